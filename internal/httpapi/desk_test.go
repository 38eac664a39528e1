package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

const validSpec = `{"v":1,"name":"flows","service":"usgs","collection":"daily","values":{"site":["a","b"]}}`

// desk answers for all ports, and remembers what it was asked.
type desk struct {
	err         error
	ready       error
	asked       []string
	spec        *query.Spec
	waitUpTo    *time.Duration
	maxRequests *int64
	statuses    []*messages.Status
	selection   messages.Selection
	repeated    bool // what is submitted was submitted before
	more        bool // statuses behind these
	submission  messages.Submission
	content     io.ReadSeeker // of the table
	etag        string
	closed      atomic.Int64 // tables
	report      frame.Report
	tableID     string
	panics      bool
	loads       loadDesk
	stopping    chan struct{}
	hold        chan struct{} // if there is one, the quotas close it, and wait for the end of their context
}

func (d *desk) note(what string) { d.asked = append(d.asked, what) }

func (d *desk) SubmitAs(_ context.Context, spec *query.Spec, by messages.Submission) (*messages.Query, error) {
	d.note("submit")
	d.submission = by
	if d.repeated {
		d.spec = spec
		return sampleQuery(), query.ErrRepeated
	}
	d.spec = spec
	return sampleQuery(), d.err
}

func (d *desk) Resume(_ context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	d.note("resume " + id)
	d.waitUpTo, d.maxRequests = again.WaitUpTo, again.MaxRequests
	return sampleQuery(), d.err
}

func (d *desk) Retry(_ context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	d.note("retry " + id)
	d.waitUpTo = again.WaitUpTo
	return sampleQuery(), d.err
}

func (d *desk) Failures(_ context.Context, id string) (*messages.Failures, error) {
	d.note("failures " + id)
	return &messages.Failures{V: 1, Query: "q1", State: messages.Failed, Failures: []messages.FailedChunk{{Position: "3", Class: "bad_request"}}}, d.err
}

func (d *desk) Cancel(_ context.Context, id string) (*messages.Query, error) {
	d.note("cancel " + id)
	return sampleQuery(), d.err
}

func (d *desk) Remove(_ context.Context, id string) error {
	d.note("remove " + id)
	return d.err
}

func (d *desk) Verify(_ context.Context, id string, reopen bool) (*messages.Verification, error) {
	d.note(fmt.Sprintf("verify %s %v", id, reopen))
	return &messages.Verification{V: 1, Query: "q1", Queries: []messages.VerifiedQuery{{ID: "q1", State: messages.Complete, Results: 3}}}, d.err
}

func (d *desk) Collect(_ context.Context, opts messages.GarbageOptions) (*messages.Garbage, error) {
	d.note(fmt.Sprintf("collect %v %v %v", opts.OlderThan, opts.Interrupted, opts.DryRun))
	return &messages.Garbage{V: 1, DryRun: opts.DryRun}, d.err
}

func (d *desk) Status(_ context.Context, id string) (*messages.Status, error) {
	if d.panics {
		panic("planted")
	}
	d.note("status " + id)
	if len(d.statuses) > 0 {
		return d.statuses[0], d.err
	}
	return sampleStatus(), d.err
}

func (d *desk) Select(_ context.Context, s messages.Selection) ([]*messages.Status, bool, error) {
	d.note("statuses")
	d.selection = s
	return d.statuses, d.more, d.err
}

func (d *desk) Plan(_ context.Context, spec *query.Spec) (*messages.PlanSummary, error) {
	d.note("plan")
	d.spec = spec
	return samplePlan(), d.err
}

func (d *desk) Manifest(_ context.Context, id string) (*messages.Manifest, error) {
	d.note("manifest " + id)
	return sampleManifest(), d.err
}

func (d *desk) Coverage(_ context.Context, id string) (*messages.Coverage, error) {
	d.note("coverage " + id)
	return &messages.Coverage{V: 1, Query: "q1", Values: []messages.Covered{{Parameter: "site", Value: "a", State: messages.SaidEmpty}}}, d.err
}

func (d *desk) Quotas(ctx context.Context) (*messages.QuotaList, error) {
	if d.hold != nil {
		close(d.hold)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	d.note("quotas")
	return &messages.QuotaList{V: 1, Quotas: []messages.QuotaStanding{{
		Pool: "gateway", Owner: "key-usgs", Counts: "requests", Limit: 1000, Left: new(int64(871)), HoldBack: 100, Window: 3600, Model: "rolling",
	}}}, d.err
}

func (d *desk) Ready(context.Context) error { return d.ready }

func (d *desk) Table(_ context.Context, id, format string, partial bool) (*httpapi.Table, error) {
	d.note("table " + id + " " + format)
	if partial {
		d.note("partial")
	}
	if d.err != nil {
		return nil, d.err
	}
	content := d.content
	if content == nil {
		content = strings.NewReader("a,b\n1,2\n")
	}
	tableID := d.tableID
	if tableID == "" {
		tableID = "q1"
	}
	return &httpapi.Table{
		Query: tableID, Report: d.report, ETag: d.etag, Content: content, Close: func() { d.closed.Add(1) },
	}, nil
}

func (d *desk) handler(cfg httpapi.Config) http.Handler {
	d.loads.d = d
	return httpapi.New(cfg, httpapi.Ports{Commands: d, Views: d, Tables: d, Loads: &d.loads, Stopping: d.stopping})
}

func sampleQuery() *messages.Query {
	digest := strings.Repeat("ab", 32)
	return &messages.Query{
		V: 1, ID: "q1", Name: "flows", Service: "usgs", Collection: "daily", Definition: digest, Spec: digest, Fingerprint: digest,
		Chunks: 3, URL: "https://example.org/?a=1&b=2", State: messages.Running, Run: 1, Created: time.Unix(1, 0).UTC(), Updated: time.Unix(2, 0).UTC(),
	}
}

func sampleStatus() *messages.Status {
	return &messages.Status{Query: sampleQuery(), Progress: &messages.Progress{V: 1, Query: "q1", Run: 1, Completed: 2}}
}

func samplePlan() *messages.PlanSummary {
	return &messages.PlanSummary{Service: "usgs", Collection: "daily", Chunks: 3, Fingerprint: strings.Repeat("ab", 32), InFlight: 4}
}

// serve starts the API over d on loopback.
func serve(t *testing.T, d *desk, cfg httpapi.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(d.handler(cfg))
	t.Cleanup(server.Close)
	return server
}

// ask sends a request and gives the answer with its whole body.
func ask(t *testing.T, server *httptest.Server, method, path, body string, edit ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edit {
		e(request)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: read: %v", method, path, err)
	}
	return response, string(text)
}

// wantProblem checks that an answer is a problem of a kind, in every respect.
func wantProblem(t *testing.T, response *http.Response, body, slug string) *contract.Problem {
	t.Helper()
	if kind := response.Header.Get("Content-Type"); kind != contract.ProblemType {
		t.Fatalf("%s: content type is %q: %s", response.Status, kind, body)
	}
	var p contract.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	want := contract.KindNamed(slug)
	if p.Type != want.Type() || p.Title != want.Title || p.Status != want.Status || response.StatusCode != want.Status || p.Detail == "" {
		t.Errorf("got status %d and %+v, want kind %s (%d)", response.StatusCode, p, slug, want.Status)
	}
	return &p
}

func sampleManifest() *messages.Manifest {
	const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	return &messages.Manifest{
		V: 1, Spec: json.RawMessage(`{"v":1}`),
		Query:   messages.ManifestQuery{ID: "q1", State: messages.Complete, Spec: sum, Plan: sum},
		Service: messages.ManifestService{Name: "rivers", Definition: sum},
	}
}
