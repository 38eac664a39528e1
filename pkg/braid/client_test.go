package braid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// desk answers for all of the API's ports, and remembers what it was asked.
type desk struct {
	err     error
	asked   []string
	content io.ReadSeeker // of the table
}

func (d *desk) note(what string, args ...any) { d.asked = append(d.asked, fmt.Sprintf(what, args...)) }

func (d *desk) SubmitAs(_ context.Context, spec *query.Spec, _ messages.Submission) (*messages.Query, error) {
	d.note("submit %s", spec.Name)
	return sampleQuery(), d.err
}

func (d *desk) Resume(_ context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	d.note("resume %s %v", id, again.WaitUpTo != nil && *again.WaitUpTo == time.Hour && *again.MaxRequests == 500)
	return sampleQuery(), d.err
}

func (d *desk) Quotas(context.Context) (*messages.QuotaList, error) {
	d.note("quotas")
	return sampleQuotas(), d.err
}

func sampleQuotas() *messages.QuotaList {
	return &messages.QuotaList{V: 1, Quotas: []messages.QuotaStanding{{
		Pool: "gateway", Owner: "key-usgs", Counts: "requests", Limit: 1000, Left: new(int64(871)), Window: 3600, Model: "rolling",
	}}}
}

func (d *desk) Cancel(_ context.Context, id string) (*messages.Query, error) {
	d.note("cancel %s", id)
	return sampleQuery(), d.err
}

func (d *desk) Remove(_ context.Context, id string) error {
	d.note("remove %s", id)
	return d.err
}

func (d *desk) Verify(_ context.Context, id string, reopen bool) (*messages.Verification, error) {
	d.note("verify %s %v", id, reopen)
	return sampleVerification(), d.err
}

func (d *desk) Collect(_ context.Context, opts messages.GarbageOptions) (*messages.Garbage, error) {
	d.note("collect %v %v %v", opts.OlderThan, opts.Interrupted, opts.DryRun)
	return sampleGarbage(), d.err
}

func (d *desk) Status(_ context.Context, id string) (*messages.Status, error) {
	d.note("status %s", id)
	return sampleStatus(), d.err
}

func (d *desk) Select(context.Context, messages.Selection) ([]*messages.Status, bool, error) {
	d.note("statuses")
	return []*messages.Status{sampleStatus(), {Query: sampleQuery()}}, false, d.err
}

func (d *desk) Plan(_ context.Context, spec *query.Spec) (*messages.PlanSummary, error) {
	d.note("plan %s", spec.Name)
	return samplePlan(), d.err
}

func (d *desk) Manifest(_ context.Context, id string) (*messages.Manifest, error) {
	d.note("manifest %s", id)
	return sampleManifest(), d.err
}

func (d *desk) Failures(_ context.Context, id string) (*messages.Failures, error) {
	d.note("failures %s", id)
	return sampleFailures(), d.err
}

func (d *desk) Retry(_ context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	d.note("retry %s %v", id, again.WaitUpTo != nil)
	return sampleQuery(), d.err
}

func sampleFailures() *messages.Failures {
	return &messages.Failures{V: 1, Query: "q1", State: messages.Failed, Failures: []messages.FailedChunk{{
		Position: "3.1", Class: "bad_request", Status: 400, Message: "no such site", Asks: "site: a", Requests: 2, Run: 1, Worker: "w1", At: time.Unix(5, 0).UTC(),
	}}}
}

func (d *desk) Coverage(_ context.Context, id string) (*messages.Coverage, error) {
	d.note("coverage %s", id)
	return &messages.Coverage{V: 1, Query: "q1", Values: []messages.Covered{{Parameter: "site", Value: "a", State: messages.SaidEmpty}}}, d.err
}

func (d *desk) Ready(context.Context) error {
	d.note("ready")
	return d.err
}

func (d *desk) Table(_ context.Context, id, format string, partial bool) (*httpapi.Table, error) {
	d.note("table %s %s %v", id, format, partial)
	table := &httpapi.Table{Query: "q1", Report: sampleReport(), Content: d.content, ETag: `"x"`, Close: func() {}}
	if table.Content == nil {
		table.Content = strings.NewReader("")
	}
	return table, d.err
}

func sampleQuery() *messages.Query {
	digest := strings.Repeat("ab", 32)
	return &messages.Query{
		V: 1, ID: "q1", Name: "flows", Service: "usgs", Collection: "daily", Definition: digest, Spec: digest, Fingerprint: digest,
		Chunks: 3, URL: "https://example.org/?a=1&b=<2>", State: messages.Interrupted, Run: 1, WaitUpTo: time.Hour,
		Stop:    &messages.Stop{Kind: "quota", Reason: "429", Until: time.Unix(9, 0).UTC(), At: time.Unix(3, 0).UTC()},
		Created: time.Unix(1, 5).UTC(), Updated: time.Unix(2, 0).UTC(),
	}
}

func sampleStatus() *messages.Status {
	return &messages.Status{Query: sampleQuery(), Progress: &messages.Progress{V: 1, Query: "q1", Run: 1, Completed: 2, Rows: 5}}
}

func samplePlan() *messages.PlanSummary {
	return &messages.PlanSummary{
		Service: "usgs", Collection: "daily", Chunks: 3, Fingerprint: strings.Repeat("ab", 32), InFlight: 4,
		LargestValues: map[string]int{"site": 50}, EstimatedRows: 1000, FirstURL: "https://example.org/1", LastURL: "https://example.org/3",
	}
}

func sampleVerification() *messages.Verification {
	return &messages.Verification{V: 1, Query: "q1", Queries: []messages.VerifiedQuery{{
		ID: "q1", State: messages.Interrupted, Results: 3, Bytes: 5, Damaged: 1, Reopened: true,
		Lost: []messages.LostResult{{Position: "2", Reason: "flipped"}},
	}}}
}

func sampleGarbage() *messages.Garbage {
	return &messages.Garbage{V: 1, Orphans: messages.OrphanParts{Attempts: 2, Bytes: 7}, Leftovers: []messages.Leftover{{ID: "gone", Bytes: 3}}, Bytes: 10}
}

func sampleReport() frame.Report { return frame.Report{Read: 3, Rows: 2, Duplicates: 1} }

func sampleSpec() *query.Spec {
	return &query.Spec{V: 1, Name: "flows", Service: "usgs", Collection: "daily", Values: service.Values{"site": {"a"}}}
}

// served starts a handler on loopback and gives a client of it. What they started must end with the test.
func served(t *testing.T, handler http.Handler) *braid.Client {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := newClient(t, server.URL)
	t.Cleanup(client.Close)
	return client
}

func (d *desk) served(t *testing.T) *braid.Client {
	t.Helper()
	return served(t, httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: d, Views: d, Tables: d}))
}

func newClient(t *testing.T, url string) *braid.Client {
	t.Helper()
	client, err := braid.NewClient(url)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// calls is every call of a client, by what the server's ports are then asked.
func calls(ctx context.Context) map[string]func(*braid.Client) (any, error) {
	hour, budget := time.Hour, int64(500)
	return map[string]func(*braid.Client) (any, error){
		"submit flows": func(c *braid.Client) (any, error) { return c.Submit(ctx, sampleSpec()) },
		"plan flows":   func(c *braid.Client) (any, error) { return c.Plan(ctx, sampleSpec()) },
		"resume q1 true": func(c *braid.Client) (any, error) {
			return c.Resume(ctx, "q1", &query.Resumption{WaitUpTo: &hour, MaxRequests: &budget})
		},
		"resume q1 false":         func(c *braid.Client) (any, error) { return c.Resume(ctx, "q1", nil) },
		"retry q1 true":           func(c *braid.Client) (any, error) { return c.Retry(ctx, "q1", &query.Resumption{WaitUpTo: &hour}) },
		"failures q1":             func(c *braid.Client) (any, error) { return c.Failures(ctx, "q1") },
		"cancel q1":               func(c *braid.Client) (any, error) { return c.Cancel(ctx, "q1") },
		"remove q1":               func(c *braid.Client) (any, error) { return nil, c.Remove(ctx, "q1") },
		"status q1":               func(c *braid.Client) (any, error) { return c.Status(ctx, "q1") },
		"status ":                 func(c *braid.Client) (any, error) { return c.Status(ctx, "") },
		"quotas":                  func(c *braid.Client) (any, error) { return c.Quotas(ctx) },
		"statuses":                func(c *braid.Client) (any, error) { return c.Statuses(ctx) },
		"ready":                   func(c *braid.Client) (any, error) { return nil, c.Ready(ctx) },
		"manifest q1":             func(c *braid.Client) (any, error) { return c.Manifest(ctx, "q1") },
		"coverage q1":             func(c *braid.Client) (any, error) { return c.Coverage(ctx, "q1") },
		"table q1 csv true":       func(c *braid.Client) (any, error) { return c.Table(ctx, "q1", "csv", true, io.Discard) },
		"verify q1 true":          func(c *braid.Client) (any, error) { return c.Verify(ctx, "q1", true) },
		"verify q1 false":         func(c *braid.Client) (any, error) { return c.Verify(ctx, "q1", false) },
		"grid q1 3 9 100":         func(c *braid.Client) (any, error) { return c.Grid(ctx, "q1", 3, 9, 100) },
		"series q1 30":            func(c *braid.Client) (any, error) { return c.Series(ctx, "q1", 30) },
		"chunks q1 failed 17.0 5": func(c *braid.Client) (any, error) { return c.Chunks(ctx, "q1", messages.ChunkFailed, "17.0", 5) },
		"chunks q1   7":           func(c *braid.Client) (any, error) { return c.Chunks(ctx, "q1", "", "", 7) },
		"chunk q1 17.0":           func(c *braid.Client) (any, error) { return c.Chunk(ctx, "q1", "17.0") },
		"preview q1 3":            func(c *braid.Client) (any, error) { return c.Preview(ctx, "q1", 3) },
		"services":                func(c *braid.Client) (any, error) { return c.Services(ctx) },
		"service rivers":          func(c *braid.Client) (any, error) { return c.Service(ctx, "rivers") },
		"workers":                 func(c *braid.Client) (any, error) { return c.Workers(ctx) },
		"collect 2h0m0s true true": func(c *braid.Client) (any, error) {
			return c.Collect(ctx, messages.GarbageOptions{OlderThan: 2 * time.Hour, Interrupted: true, DryRun: true})
		},
	}
}

func TestEachCallAsksItsPortAndGivesItsAnswer(t *testing.T) {
	report := sampleReport()
	answers := map[string]any{
		"submit": sampleQuery(), "resume": sampleQuery(), "cancel": sampleQuery(), "plan": samplePlan(), "status": sampleStatus(), "verify": sampleVerification(), "collect": sampleGarbage(),
		"statuses": []*messages.Status{sampleStatus(), {Query: sampleQuery()}}, "table": &report,
		"grid": sampleGrid(), "series": sampleSeries(), "chunks": sampleChunks(), "chunk": sampleDetail(), "preview": samplePreview(),
		"services": &messages.ServiceList{V: 1, Services: []*messages.ServiceView{sampleService()}}, "service": sampleService(), "workers": sampleWorkers(),
		"manifest": sampleManifest(), "retry": sampleQuery(), "failures": sampleFailures(), "quotas": sampleQuotas(),
		"coverage": &messages.Coverage{V: 1, Query: "q1", Values: []messages.Covered{{Parameter: "site", Value: "a", State: messages.SaidEmpty}}},
	}
	for asked, call := range calls(t.Context()) {
		t.Run(asked, func(t *testing.T) {
			d := &desk{content: strings.NewReader("a\n")}
			got, err := call(d.served(t))
			if err != nil || !slices.Equal(d.asked, []string{asked}) {
				t.Fatalf("asked %q: %v", d.asked, err)
			}
			verb, _, _ := strings.Cut(asked, " ")
			if diff := cmp.Diff(answers[verb], got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEachSentinelComesThroughEachCallWithTheServersWords(t *testing.T) {
	sentinels := []error{
		query.ErrInvalid, query.ErrState, query.ErrIncomplete, query.ErrAmbiguous, messages.ErrNotFound, messages.ErrDamaged,
		messages.ErrStoreFull, messages.ErrUnreachable, messages.ErrConflict, messages.ErrVersion,
	}
	for _, sentinel := range sentinels {
		d := &desk{err: fmt.Errorf("query q1: %w; do this", sentinel)}
		client := d.served(t)
		for asked, call := range calls(t.Context()) {
			if asked == "ready" {
				continue // whose errors all mean that it is not ready
			}
			_, err := call(client)
			if err == nil || err.Error() != d.err.Error() {
				t.Errorf("%s: got %v, want %v", asked, err, d.err)
			}
			for _, other := range sentinels {
				if errors.Is(err, other) != errors.Is(sentinel, other) {
					t.Errorf("%s: is %v also %v?", asked, err, other)
				}
			}
			if errors.Is(err, braid.ErrServer) {
				t.Errorf("%s: %v blames the server", asked, err)
			}
		}
	}
}

func TestFieldsAtFaultComeThrough(t *testing.T) {
	d := &desk{err: fmt.Errorf("%w: %w", query.ErrInvalid, service.ValueErrors{{Parameter: "time", Message: "it has no end", Err: service.ErrInvalidValue}})}
	_, err := d.served(t).Submit(t.Context(), sampleSpec())
	var refusal *braid.ServerError
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	if want := []braid.FieldError{{Location: "values.time", Message: "it has no end"}}; !slices.Equal(refusal.Fields, want) || refusal.Status != 422 {
		t.Errorf("got %+v", refusal)
	}
}

func TestAnUnexpectedErrorBlamesTheServer(t *testing.T) {
	_, err := (&desk{err: errors.New("planted")}).served(t).Status(t.Context(), "q1")
	if !errors.Is(err, braid.ErrServer) || strings.Contains(err.Error(), "planted") {
		t.Errorf("got %v", err)
	}
}

func TestWhatTheServerWouldRefuseIsNotSent(t *testing.T) {
	d := &desk{}
	client := d.served(t)
	if _, err := client.Submit(t.Context(), &query.Spec{}); !errors.Is(err, query.ErrInvalid) {
		t.Errorf("an empty spec: %v", err)
	}
	for _, id := range []string{"../x", "a/b", "a b", "a?b", strings.Repeat("a", 65)} {
		if _, err := client.Status(t.Context(), id); !errors.Is(err, messages.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
	if _, err := client.Table(t.Context(), "q1", "exe", false, io.Discard); !errors.Is(err, query.ErrInvalid) || len(d.asked) > 0 {
		t.Errorf("an unknown format: %v, asked %q", err, d.asked)
	}
}

func TestATableIsWrittenAsItCame(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 1<<16)
	d := &desk{content: strings.NewReader(want)}
	var got bytes.Buffer
	report, err := d.served(t).Table(t.Context(), "q1", "parquet", false, &got)
	if err != nil || got.String() != want || report.Rows != 2 {
		t.Errorf("%d bytes, %+v, %v", got.Len(), report, err)
	}
}

// brokenContent is a table that can be read up to a point.
type brokenContent struct{ *strings.Reader }

func (b brokenContent) Read(p []byte) (int, error) {
	if at := b.Size() - int64(b.Len()); at >= b.Size()/2 {
		return 0, errors.New("planted")
	}
	return b.Reader.Read(p[:min(len(p), b.Len()/4+1)])
}

func TestATableThatBrokeOffIsAnError(t *testing.T) {
	for _, size := range []int{1, 1000, 100_000, 3 << 20} {
		d := &desk{content: brokenContent{strings.NewReader(strings.Repeat("x", size))}}
		if report, err := d.served(t).Table(t.Context(), "q1", "csv", false, io.Discard); !errors.Is(err, braid.ErrServer) {
			t.Errorf("%d bytes: %+v, %v", size, report, err)
		}
	}
}

func TestATableWhoseEndCannotBeToldIsRefused(t *testing.T) {
	client := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(connection, "HTTP/1.0 200 OK\r\n"+contract.ReportHeader+": {}\r\n\r\na,b\n1,")
		_ = connection.Close()
	}))
	if report, err := client.Table(t.Context(), "q1", "csv", false, io.Discard); !errors.Is(err, braid.ErrServer) {
		t.Errorf("%+v, %v", report, err)
	}
}

type brokenWriter struct{}

var errDiskFull = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errDiskFull }

func TestAWriterThatFailsIsNotTheServersFault(t *testing.T) {
	d := &desk{content: strings.NewReader("a\n")}
	if _, err := d.served(t).Table(t.Context(), "q1", "csv", false, brokenWriter{}); !errors.Is(err, errDiskFull) || errors.Is(err, braid.ErrServer) {
		t.Errorf("got %v", err)
	}
}

func TestAnswersThatAreNotBraidsAreErrors(t *testing.T) {
	page := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a page":               page(200, "text/html", "<h1>Welcome</h1>"),
		"a proxy's page":       page(502, "text/html", "<h1>Bad Gateway</h1>"),
		"a redirect":           page(302, "text/html", ""),
		"a kept redirect":      page(307, "application/json", ""),
		"other JSON":           page(200, "application/json", `{"hello":1}`),
		"no JSON":              page(200, "application/json", `{`),
		"a later version":      page(200, "application/json", `{"v":99,"query":{"v":99}}`),
		"a large answer":       page(200, "application/json", strings.Repeat(" ", 2<<20)),
		"a problem of nothing": page(500, contract.ProblemType, `{}`),
		"an unknown problem":   page(418, contract.ProblemType, `{"type":"https://example.org/other","title":"Teapot"}`),
		"a large problem":      page(500, contract.ProblemType, `{"detail":"`+strings.Repeat("x", 2<<20)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			client := served(t, handler)
			for asked, call := range calls(t.Context()) {
				if slices.Contains([]string{"ready", "remove q1", "statuses", "quotas"}, asked) {
					continue // whose answers say little beside their status
				}
				if got, err := call(client); !errors.Is(err, braid.ErrServer) || len(err.Error()) > 8<<10 {
					t.Errorf("%s: %+v, %.300v", asked, got, err)
				}
			}
		})
	}
}

func TestAnAnswerOverItsBoundIsAnErrorHoweverItBegins(t *testing.T) {
	status, err := json.Marshal(sampleStatus())
	if err != nil {
		t.Fatal(err)
	}
	client := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(status, bytes.Repeat([]byte(" "), 2<<20)...))
	}))
	if _, err := client.Status(t.Context(), "q1"); !errors.Is(err, braid.ErrServer) {
		t.Errorf("got %v", err)
	}
}

func TestWhereNobodyListensTheErrorAsksWhetherItRuns(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	_ = listener.Close()
	for asked, call := range calls(t.Context()) {
		if _, err := call(newClient(t, url)); !errors.Is(err, braid.ErrServer) || !strings.Contains(err.Error(), "no coordinator at "+url+": is it running?") {
			t.Errorf("%s: %v", asked, err)
		}
	}
}

func TestACancelledCallGivesTheCallersCause(t *testing.T) {
	cause := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := served(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	}))
	if _, err := client.Status(ctx, "q1"); !errors.Is(err, cause) || errors.Is(err, braid.ErrServer) {
		t.Errorf("got %v", err)
	}
}

func TestACommandIsNeverSentTwice(t *testing.T) {
	var posts atomic.Int32
	client := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"status":"ok"}`)
			return
		}
		posts.Add(1)
		panic(http.ErrAbortHandler)
	}))
	if err := client.Ready(t.Context()); err != nil { // so that there is a connection to use again
		t.Fatal(err)
	}
	for range 3 {
		if _, err := client.Cancel(t.Context(), "q1"); !errors.Is(err, braid.ErrServer) {
			t.Errorf("got %v", err)
		}
	}
	if n := posts.Load(); n != 3 {
		t.Errorf("3 commands were sent %d times", n)
	}
}

func TestOnlyTheURLOfAServerMakesAClient(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://127.0.0.1:7420": true, "https://example.org/braid/": true, "http://localhost": true, "http://[::1]:7420": true,
		"": false, "127.0.0.1:7420": false, "localhost": false, "ftp://example.org": false, "nats://example.org:4222": false, "http://": false,
		"http://user:secret@example.org": false, "http://example.org?x=1": false, "http://example.org/#a": false, "http://secret:%zz@h": false,
	} {
		client, err := braid.NewClient(url)
		if ok != (err == nil) || !ok && (!errors.Is(err, braid.ErrURL) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v, %v", url, client, err)
		}
	}
}

func TestABaseURLMayHaveAPath(t *testing.T) {
	d := &desk{}
	handler := http.StripPrefix("/tools/braid", httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: d, Views: d, Tables: d}))
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := braid.NewClient(server.URL+"/tools/braid/", braid.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Status(t.Context(), "q1"); err != nil {
		t.Error(err)
	}
}

func sampleManifest() *messages.Manifest {
	const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	return &messages.Manifest{
		V: 1, Spec: json.RawMessage(`{"v":1}`),
		Query:   messages.ManifestQuery{ID: "q1", State: messages.Complete, Spec: sum, Plan: sum},
		Service: messages.ManifestService{Name: "rivers", Definition: sum},
	}
}
