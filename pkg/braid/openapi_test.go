package braid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// described is a real server with its own description: a store, an upstream, workers, and one complete query.
type described struct {
	t    *testing.T
	base string
	doc  *openapi3.T
	text string // of the description
	id   string // of the query
	load string // id of a load run
	gate string // of the load profile prod
	seen string // fingerprint of what depends on the data
	body string // that submits one more
}

func describe(t *testing.T) *described {
	t.Helper()
	_, upstreamBase := upstream(t, simulator.Config{})
	fake := newFakeBoards(t)
	e := open(t, upstreamBase, fake.into)
	testkit.Run(t, e.Run)
	api, err := e.ListenAPI(t.Context(), braid.APIConfig{Listen: "127.0.0.1:0", Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, api.Serve)
	q := submit(t, e, daily())
	settled(t, e, q.ID, 1)
	body, err := daily().Encode()
	if err != nil {
		t.Fatal(err)
	}
	d := &described{t: t, base: "http://" + api.Address(), id: q.ID, body: string(body)}
	testkit.Until(t, "the server is ready", func() bool {
		answer, _ := d.ask("GET", "/readyz", "", nil)
		return answer.StatusCode == 200
	})
	answer, text := d.ask("GET", "/openapi.json", "", nil)
	if answer.StatusCode != 200 {
		t.Fatal(answer.Status)
	}
	d.text = text
	d.runLoad(e.LoadRuns("ann"))
	if d.doc, err = openapi3.NewLoader().LoadFromData([]byte(text)); err != nil {
		t.Fatalf("the description cannot be read: %v", err)
	}
	return d
}

// ask sends a request. Of a stream of events it reads what comes first.
func (d *described) ask(method, path, body string, header http.Header) (*http.Response, string) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, d.base+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	maps.Copy(request.Header, header)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		first := make([]byte, 1)
		_, _ = io.ReadFull(response.Body, first)
		return response, string(first)
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response, string(data)
}

type described1 struct {
	method, path string
	op           *openapi3.Operation
}

// operations gives all that are described, removals last.
func (d *described) operations() []described1 {
	var all []described1
	for path, item := range d.doc.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, described1{method, path, op})
		}
	}
	slices.SortFunc(all, func(a, b described1) int {
		if (a.method == "DELETE") != (b.method == "DELETE") {
			return map[bool]int{true: 1, false: -1}[a.method == "DELETE"]
		}
		return strings.Compare(a.path+a.method, b.path+b.method)
	})
	return all
}

// fill puts real things in the places of a path.
func (d *described) fill(path string) string {
	switch {
	case path == "/v1/load/profiles/{id}/approvals":
		return "/v1/load/profiles/prod/approvals"
	case strings.HasPrefix(path, "/v1/load/profiles/"):
		return strings.ReplaceAll(path, "{id}", "dev")
	case strings.HasPrefix(path, "/v1/load/runs/"):
		return strings.NewReplacer("{id}", d.load, "{number}", "0").Replace(path)
	}
	return strings.NewReplacer("{id}", d.id, "{slug}", "not-found", "{position}", "0", "{name}", "usgs-waterdata").Replace(path)
}

// valid gives a request body that an operation takes.
func (d *described) valid(o described1) string {
	switch {
	case o.op.RequestBody == nil, !o.op.RequestBody.Value.Required:
		return ""
	case strings.HasPrefix(o.path, "/v1/load/"):
		return d.validLoad(o)
	case o.path == "/v1/query-file":
		return `{"text":"schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere: {}\n"}`
	}
	return d.body
}

func TestEachOperationAnswersAsItIsDescribed(t *testing.T) {
	d := describe(t)
	for _, o := range d.operations() {
		answer, body := d.ask(o.method, d.fill(o.path)+d.needed(o), d.valid(o), nil)
		name := o.method + " " + o.path
		described := o.op.Responses.Status(answer.StatusCode)
		if described == nil {
			described = o.op.Responses.Default()
		}
		// A complete query can neither be resumed nor cancelled, and a load run that has ended not be stopped.
		refused := answer.StatusCode == http.StatusConflict && (strings.HasSuffix(o.path, "/resume") || strings.HasSuffix(o.path, "/cancel") || strings.HasSuffix(o.path, "/stop"))
		if answer.StatusCode >= 400 && !refused {
			t.Errorf("%s: %s: %.300s", name, answer.Status, body)
			continue
		}
		if answer.StatusCode == http.StatusNoContent {
			continue
		}
		kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		media := described.Value.Content.Get(kind)
		if media == nil {
			t.Errorf("%s: %s with %q is not described", name, answer.Status, kind)
			continue
		}
		if !strings.Contains(kind, "json") || strings.Contains(kind, "jsonl") {
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(body), &value); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := media.Schema.Value.VisitJSON(value, openapi3.MultiErrors()); err != nil {
			t.Errorf("%s: the answer is not as it is described: %v", name, err)
		}
	}
}

// wantRefused asks what is to be refused, whatever the kind of refusal.
func (d *described) wantRefused(what, method, path, body string, header http.Header) {
	d.t.Helper()
	answer, text := d.ask(method, path, body, header)
	if _, err := contract.DecodeProblem([]byte(text)); answer.StatusCode/100 != 4 || err != nil || answer.Header.Get("Content-Type") != contract.ProblemType {
		d.t.Errorf("%s (%s %.100s): %s %q %.300s", what, method, path, answer.Status, answer.Header.Get("Content-Type"), text)
	}
}

func TestWhatTheDescriptionForbidsIsRefusedAsAProblem(t *testing.T) {
	d := describe(t)
	for _, o := range d.operations() {
		path, body := d.fill(o.path), d.valid(o)
		d.wantRefused("an unknown parameter", o.method, path+"?no_such_parameter=1", body, nil)
		for _, p := range o.op.Parameters {
			param := p.Value
			for _, wrong := range against(param.Schema.Value) {
				what := fmt.Sprintf("%s %.40q", param.Name, wrong)
				switch param.In {
				case "query":
					d.wantRefused(what, o.method, path+"?"+url.Values{param.Name: {wrong}}.Encode(), body, nil)
				case "header":
					d.wantRefused(what, o.method, path, body, http.Header{http.CanonicalHeaderKey(param.Name): {wrong}})
				}
			}
			if param.In == "path" {
				d.wantRefused("an unknown "+param.Name, o.method, strings.NewReplacer(d.id, "nowhere", d.load, "nowhere", "/dev", "/nowhere", "/prod", "/nowhere", "not-found", "nothing", "/0", "/999999", "usgs-waterdata", "nowhere").Replace(path), body, nil)
			}
		}
		if o.op.RequestBody == nil {
			continue
		}
		schema := o.op.RequestBody.Value.Content.Get("application/json").Schema.Value
		for _, wrong := range []string{"[]", `"x"`, `{"no_such_field":1}`, `{`, "1"} {
			d.wantRefused("a body", o.method, path, wrong, nil)
		}
		for field, property := range schema.Properties {
			for _, wrong := range wrongValues(property.Value) {
				d.wantRefused("the field "+field, o.method, path, `{"`+field+`":`+wrong+`}`, nil)
			}
		}
	}
}

// against gives texts that a parameter's schema does not allow.
func against(schema *openapi3.Schema) []string {
	var wrong []string
	switch {
	case schema.Type.Is("integer"), schema.Type.Is("number"):
		wrong = append(wrong, "x", "1.5.2", "99999999999999999999999")
		if schema.Min != nil {
			wrong = append(wrong, fmt.Sprint(int64(*schema.Min)-1))
		}
		if schema.Max != nil {
			wrong = append(wrong, fmt.Sprint(int64(*schema.Max)+1))
		}
	case schema.Type.Is("boolean"):
		wrong = append(wrong, "maybe")
	case schema.Type.Is("array"):
		wrong = append(wrong, "no-such-item")
	default:
		if len(schema.Enum) > 0 {
			wrong = append(wrong, "no-such-value")
		}
		if schema.MaxLength != nil {
			wrong = append(wrong, strings.Repeat("a", int(*schema.MaxLength)+1))
		}
	}
	return wrong
}

// wrongValues gives JSON that a field's schema does not allow.
func wrongValues(schema *openapi3.Schema) []string {
	wrong := []string{`{"a":{"b":[]}}`}
	if !schema.Type.Is("string") && len(schema.OneOf) == 0 {
		wrong = append(wrong, `"no such value"`)
	}
	if schema.Type.Is("integer") {
		wrong = append(wrong, "1.5", "1e99")
	}
	return wrong
}

// The mux and the description know the same, whatever was added to either.
func TestEachRouteIsDescribedAndEachDescribedIsARoute(t *testing.T) {
	d := describe(t)
	_, docs := d.ask("GET", "/docs", "", nil)
	for _, o := range d.operations() {
		answer, _ := d.ask("OPTIONS", strings.ReplaceAll(d.fill(o.path), "{", ""), "", nil)
		if allow := answer.Header.Get("Allow"); answer.StatusCode != 204 || !strings.Contains(allow, o.method) {
			t.Errorf("%s %s is described, and the server allows %q there (%s)", o.method, o.path, allow, answer.Status)
		}
		for allowed := range strings.SplitSeq(answer.Header.Get("Allow"), ", ") {
			item := d.doc.Paths.Find(o.path)
			if allowed != "HEAD" && allowed != "OPTIONS" && item.GetOperation(allowed) == nil {
				t.Errorf("%s %s is a route, and is not described", allowed, o.path)
			}
		}
		if !strings.Contains(docs, "<code>"+o.method+" "+o.path+"</code>") {
			t.Errorf("%s %s is not on the page for people", o.method, o.path)
		}
		if o.op.Summary == "" || o.op.OperationID == "" || o.op.Responses.Default() == nil {
			t.Errorf("%s %s lacks a summary, an id or its problems", o.method, o.path)
		}
		for _, p := range o.op.Parameters {
			if p.Value.Description == "" {
				t.Errorf("%s %s: the parameter %s is not explained", o.method, o.path, p.Value.Name)
			}
		}
	}
	for _, path := range []string{
		"/v1/queries", "/v1/queries/{id}", "/v1/queries/{id}/events", "/v1/events", "/v1/queries/{id}/results", "/v1/plan", "/healthz", "/readyz", "/v1/quotas", "/v1/gc",
	} {
		if d.doc.Paths.Find(path) == nil {
			t.Errorf("%s is not described", path)
		}
	}
	if d.doc.OpenAPI != "3.1.0" || !json.Valid([]byte(d.text)) {
		t.Errorf("the description is of version %s", d.doc.OpenAPI)
	}
}

func TestAWatchOverARealServerTellsAQueryToItsEnd(t *testing.T) {
	d := describe(t)
	client, err := braid.NewClient(d.base)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	spec := daily()
	spec.Values["time"] = []string{"2023-01-01", "2023-01-30"}
	q, err := client.SubmitWithKey(t.Context(), spec, "first")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := client.SubmitWithKey(t.Context(), spec, "first"); err != nil || again.ID != q.ID {
		t.Fatalf("again: %+v, %v", again, err)
	}
	var last *braid.Event
	var state messages.QueryState
	for e, err := range client.Watch(t.Context(), q.ID, "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Status != nil {
			state = e.Status.Query.State
		}
		last = e
	}
	if last == nil || last.Kind != braid.EventEnd || last.State != messages.Complete || state != messages.Complete {
		t.Errorf("the last event is %+v, behind %s", last, state)
	}
	for e, err := range client.Watch(t.Context(), q.ID, last.ID) {
		t.Errorf("behind the end: %+v, %v", e, err)
	}
}
