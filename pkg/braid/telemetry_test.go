package braid_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidhq/braid/internal/logging"
	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// told opens everything in this process with telemetry, runs it with its API, and gives the API's base URL.
func told(t *testing.T, base string, cfg braid.TelemetryConfig, edit func(*braid.EmbeddedConfig)) (e *braid.Embedded, telemetry *braid.Telemetry, api string) {
	t.Helper()
	telemetry, err := braid.OpenTelemetry(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = telemetry.Close(context.WithoutCancel(t.Context())) }) // the test closes it, where it matters
	e = open(t, base, func(c *braid.EmbeddedConfig) {
		c.Telemetry, c.Log = telemetry, cfg.Log
		if edit != nil {
			edit(c)
		}
	})
	served, err := e.ListenAPI(t.Context(), braid.APIConfig{Listen: "127.0.0.1:0", Log: cfg.Log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- served.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return e, telemetry, "http://" + served.Address()
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v", url, answer.Status, err)
	}
	return string(body)
}

// sum adds up the values of a metric over all series with these labels.
func sum(t *testing.T, text, name string, labels ...string) float64 {
	t.Helper()
	total, found := 0.0, false
next:
	for line := range strings.SplitSeq(text, "\n") {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest != "" && rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(rest, label) {
				continue next
			}
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		total, found = total+value, true
	}
	if !found {
		t.Errorf("there is no %s %v", name, labels)
	}
	return total
}

func TestMetricsAgreeWithWhatTheServiceSaw(t *testing.T) {
	sim, base := upstream(t, simulator.Config{})
	_, _, api := told(t, base, braid.TelemetryConfig{Version: "v1"}, nil)
	e, err := braid.NewClient(api)
	if err != nil {
		t.Fatal(err)
	}
	q := settled(t, e, submit(t, e, daily()).ID, 1)
	if q.State != messages.Complete {
		t.Fatalf("%s: %+v", q.State, q.Stop)
	}
	saw := sim.Counters()
	var text string
	testkit.Until(t, "the last item is acknowledged, and the end is counted", func() bool {
		text = get(t, api+"/metrics")
		return sum(t, text, "braid_worker_running_items") == 0 && sum(t, text, "braid_slots_in_use") == 0 && strings.Contains(text, "\nbraid_queries_settled_total{")
	})
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{float64(saw.Requests), "braid_upstream_requests_total", nil},
		{float64(saw.OK), "braid_upstream_requests_total", []string{`class="ok"`, `code="2xx"`}},
		{float64(saw.Requests), "braid_upstream_request_duration_seconds_count", nil},
		{float64(saw.Rows), "braid_rows_total", nil},
		{requests, "braid_pages_total", nil},
		{chunks, "braid_chunks_total", []string{`outcome="rows"`, `service="usgs-waterdata"`}},
		{chunks, "braid_items_taken_total", nil},
		{chunks, "braid_items_ended_total", []string{`ending="done"`}},
		{chunks, "braid_items_dispatched_total", nil},
		{1, "braid_queries_submitted_total", nil},
		{1, "braid_queries_settled_total", []string{`state="complete"`}},
		{1, "braid_queries", []string{`state="complete"`}},
		{1, "braid_leader", nil},
		{2, "braid_workers_present", nil},
		{4, "braid_worker_concurrency", nil},
		{2, "braid_slots_limit", []string{`service="usgs-waterdata"`}},
		{0, "braid_queue_pending_items", []string{`service="usgs-waterdata"`}},
		{chunks, "braid_store_messages", []string{`stream="RESULTS"`}},
		{1, "braid_nats_connected", nil},
		{1, "braid_store_scrape_success", nil},
		{1, "braid_api_requests_total", []string{`route="/v1/queries"`, `method="POST"`, `code="2xx"`}},
	} {
		if got := sum(t, text, c.name, c.labels...); got != c.want {
			t.Errorf("%s %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if strings.Contains(text, q.ID) {
		t.Error("a series names a query")
	}
}

func TestMetricsTellOfAnInterruption(t *testing.T) {
	sim, base := upstream(t, simulator.Config{Quota: simulator.Quota{Limit: 5}})
	e, _, api := told(t, base, braid.TelemetryConfig{}, nil)
	q := settled(t, e, submit(t, e, daily()).ID, 1)
	if q.State != messages.Interrupted {
		t.Fatalf("%s: %+v", q.State, q.Stop)
	}
	var text string
	testkit.Until(t, "all that was in hand is told", func() bool {
		text = get(t, api+"/metrics")
		return sum(t, text, "braid_worker_running_items") == 0 && strings.Contains(text, "\nbraid_queries_settled_total{")
	})
	saw := sim.Counters()
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{float64(saw.Requests), "braid_upstream_requests_total", nil},
		{float64(saw.Refused), "braid_upstream_requests_total", []string{`class="quota"`, `code="4xx"`}},
		{1, "braid_gate_closed", []string{`service="usgs-waterdata"`}},
		{1, "braid_queries", []string{`state="interrupted"`}},
	} {
		if got := sum(t, text, c.name, c.labels...); got != c.want {
			t.Errorf("%s %v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if sum(t, text, "braid_interruptions_total", `kind="quota"`) < 1 {
		t.Error("no interruption is counted")
	}
}

// One submission is one tree of spans, from the client that submitted to each request that was sent for it.
func TestATraceLeadsFromTheSubmissionToEachRequest(t *testing.T) {
	const (
		trace  = "0af7651916cd43dd8448eb211c80319c"
		client = "b7ad6b7169203331"
		key    = "the-key-of-the-service"
	)
	collector := testkit.NewCollector(t)
	sim := simulator.New(simulator.Config{PageRows: daysOfChunk/2 + 1})
	var leaked atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") != "" || r.Header.Get("Tracestate") != "" || r.Header.Get("Baggage") != "" {
			leaked.Add(1)
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	base := front.URL
	var lines bytes.Buffer
	log, err := logging.New(&lines, logging.JSON, slog.LevelDebug)
	if err != nil {
		t.Fatal(err)
	}
	e, telemetry, api := told(t, base, braid.TelemetryConfig{Endpoint: collector.URL, Ratio: 0, Log: log}, func(c *braid.EmbeddedConfig) {
		c.Getenv = func(name string) string {
			if strings.HasPrefix(name, "API_USGS") {
				return key
			}
			return ""
		}
	})
	text, err := daily().Encode()
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/v1/queries", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+trace+"-"+client+"-01")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s, %v", answer.Status, err)
	}
	all, err := e.Statuses(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%d queries, %v", len(all), err)
	}
	q := settled(t, e, all[0].Query.ID, 1)
	testkit.Until(t, "the last item is acknowledged", func() bool {
		return sum(t, get(t, api+"/metrics"), "braid_worker_running_items") == 0
	})
	if err := telemetry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	byID, named := map[string]testkit.Span{}, map[string][]testkit.Span{}
	for _, s := range collector.Spans() {
		if s.Trace == trace {
			byID[s.ID] = s
			named[s.Name] = append(named[s.Name], s)
		}
	}
	parents := map[string]string{
		"submit": "POST /v1/queries", "dispatch": "submit", "chunk": "dispatch", "page": "chunk", "attempt": "page", "GET": "attempt", "commit": "chunk",
	}
	counts := map[string]int{"POST /v1/queries": 1, "submit": 1, "chunk": chunks, "page": requests, "attempt": requests, "GET": requests, "commit": chunks}
	for name, want := range counts {
		if len(named[name]) != want {
			t.Errorf("%d spans %s, want %d", len(named[name]), name, want)
		}
	}
	for name, spans := range named {
		for _, s := range spans {
			parent := byID[s.Parent].Name
			if name == "POST /v1/queries" {
				parent = s.Parent
			}
			if want := parents[name]; parent != want && !(want == "" && parent == client) {
				t.Errorf("%s is the child of %q, want %q", name, parent, want)
			}
		}
	}
	positions := map[string]bool{}
	for _, s := range named["chunk"] {
		positions[s.Attributes["braid.position"]] = true
		if s.Attributes["braid.query"] != q.ID || s.Attributes["braid.worker"] == "" || s.Attributes["braid.run"] != "1" {
			t.Errorf("%+v", s.Attributes)
		}
	}
	if len(positions) != chunks {
		t.Errorf("spans of the positions %v", positions)
	}
	for _, s := range named["GET"] {
		if s.Kind != "CLIENT" || s.Attributes["http.response.status_code"] != "200" || s.Attributes["server.address"] != "127.0.0.1" || strings.Contains(s.Attributes["url.full"], "USGS-") {
			t.Errorf("%+v", s)
		}
	}
	if raw := string(collector.Raw()); strings.Contains(raw, key) {
		t.Error("the service's key was sent to the collector")
	}
	if leaked.Load() > 0 {
		t.Error("the service was sent of the trace")
	}
	if q.Trace == "" || !strings.Contains(lines.String(), fmt.Sprintf(`"trace_id":%q`, trace)) {
		t.Errorf("the query's trace is %q, and the log names it %d times", q.Trace, strings.Count(lines.String(), "trace_id"))
	}
	for _, told := range []string{"submitted", "settled"} { // by whoever took the query in, and by its driver
		with := func(line string) bool {
			return strings.Contains(line, fmt.Sprintf(`"msg":%q`, told)) && strings.Contains(line, fmt.Sprintf(`"trace_id":%q`, trace))
		}
		if !slices.ContainsFunc(strings.Split(lines.String(), "\n"), with) {
			t.Errorf("no line %q names the trace", told)
		}
	}
	if strings.Contains(lines.String(), key) {
		t.Error("the log has the service's key")
	}
}
