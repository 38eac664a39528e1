package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/braidhq/braid/internal/metrics"
	"github.com/braidhq/braid/pkg/messages"
)

// scrape gives what GET /metrics answers.
func scrape(t *testing.T, p *metrics.Process) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// ours are the lines of our own metrics, without their comments.
func ours(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "braid_") {
			lines = append(lines, line)
		}
	}
	return lines
}

// exercised has something to tell of every metric, for a service of this name.
func exercise(p *metrics.Process, name string) {
	w := p.Worker()
	w.Begun(4)
	w.ItemTaken(name, true)
	w.ItemTaken(name, false)
	w.ItemEnded(name, "done")
	w.Stored(name, &messages.ResultHeader{Outcome: messages.OutcomeRows, Rows: 10, Pages: 2})
	w.Stored(name, &messages.ResultHeader{Outcome: messages.OutcomeFailed, Failure: &messages.Failure{Class: "auth"}})
	w.Requested(name, &messages.Execution{Class: "ok", Status: 200, Bytes: 100, Upstream: 30 * time.Millisecond}, 3)
	w.Requested(name, &messages.Execution{Class: "transient"}, 1)
	w.SlotTaken(name, time.Millisecond)
	w.GateClosed(name)
	w.Interrupted(name, messages.QuotaExhausted)
	c := p.Coordinator()
	c.Leads(true)
	c.Submitted(name)
	c.Settled(name, messages.Failed, true)
	c.Dispatched(name, 256)
	c.Lost(name)
	c.Stalled(name)
	p.Request("/v1/queries/{id}", "GET", 200, 10*time.Millisecond, false)
	p.Subscribed()
}

func system(name string) *metrics.System {
	now := time.Unix(1_700_000_000, 0)
	return &metrics.System{
		Now: now, Workers: 3,
		Queries: []*messages.Query{
			{Service: name, State: messages.Running},
			{Service: name, State: messages.Interrupted, Stop: &messages.Stop{Kind: messages.StopBreaker}},
		},
		Queues: []metrics.Queue{{Service: name, Slots: 8, Pending: 40, InHand: 7}},
		Gates: []*messages.Gate{
			{Service: name + "-0a1b2c3d", Until: now.Add(time.Minute)}, {Service: name + "-ffffffff", Until: now.Add(-time.Minute)},
		},
		Pools: []messages.QuotaStanding{
			{Pool: "key", Owner: "a", Left: new(int64(900)), Limit: 1000}, {Pool: "key", Owner: "b", Left: new(int64(10)), Limit: 1000}, {Pool: "unknown", Owner: "a"},
		},
		Stores: []metrics.Store{{Stream: "RESULTS", Bytes: 500, Limit: 1000, Messages: 5}, {Stream: "PARTS", Bytes: 1, Limit: -1}},
	}
}

func TestNamesHelpAndUnitsAreAsPrometheusWantsThem(t *testing.T) {
	p := metrics.New(metrics.Config{Spans: func() (int64, int64) { return 1, 2 }})
	p.Watch(func(context.Context) (*metrics.System, error) { return system("usgs"), nil })
	exercise(p, "usgs")
	problems, err := testutil.GatherAndLint(p.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		if strings.HasPrefix(problem.Metric, "braid_") {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	}
	all, err := promlint.New(strings.NewReader(scrape(t, p))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range all {
		if strings.HasPrefix(problem.Metric, "braid_") {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	}
}

func TestWhatIsToldIsWhatHappened(t *testing.T) {
	p := metrics.New(metrics.Config{Version: "v1"})
	p.Watch(func(context.Context) (*metrics.System, error) { return system("usgs"), nil })
	p.Connected(func() bool { return true })
	exercise(p, "usgs")
	have := ours(scrape(t, p))
	for _, want := range []string{
		`braid_worker_concurrency 4`, `braid_worker_running_items 1`,
		`braid_items_taken_total{service="usgs"} 2`, `braid_items_redelivered_total{service="usgs"} 1`, `braid_items_ended_total{ending="done",service="usgs"} 1`,
		`braid_chunks_total{outcome="rows",service="usgs"} 1`, `braid_chunks_total{outcome="failed",service="usgs"} 1`,
		`braid_chunk_failures_total{class="auth",service="usgs"} 1`, `braid_rows_total{service="usgs"} 10`, `braid_pages_total{service="usgs"} 2`,
		`braid_upstream_requests_total{class="ok",code="2xx",service="usgs"} 1`, `braid_upstream_requests_total{class="redirect",code="3xx",service="usgs"} 2`,
		`braid_upstream_requests_total{class="transient",code="none",service="usgs"} 1`,
		`braid_upstream_request_duration_seconds_count{service="usgs"} 2`, `braid_upstream_response_bytes_total{service="usgs"} 100`,
		`braid_slots_in_use{service="usgs"} 1`, `braid_slot_wait_seconds_count{service="usgs"} 1`, `braid_gate_closings_total{service="usgs"} 1`,
		`braid_interruptions_total{kind="quota",service="usgs"} 1`,
		`braid_leader 1`, `braid_leader_terms_total 1`, `braid_queries_submitted_total{service="usgs"} 1`, `braid_queries_settled_total{service="usgs",state="failed"} 1`,
		`braid_items_dispatched_total{service="usgs"} 256`, `braid_breaker_trips_total{service="usgs"} 1`, `braid_results_lost_total{service="usgs"} 1`,
		`braid_queue_stalls_total{service="usgs"} 1`, `braid_api_requests_total{code="2xx",method="GET",route="/v1/queries/{id}"} 1`, `braid_api_event_streams 1`,
		`braid_store_scrape_success 1`, `braid_nats_connected 1`, `braid_workers_present 3`, `braid_queries{state="running"} 1`, `braid_queries{state="complete"} 0`,
		`braid_breaker_stopped_queries{service="usgs"} 1`, `braid_queue_pending_items{service="usgs"} 40`, `braid_queue_unacked_items{service="usgs"} 7`,
		`braid_slots_limit{service="usgs"} 8`, `braid_gate_closed{service="usgs"} 1`, `braid_gate_until_timestamp_seconds{service="usgs"} 1.70000006e+09`,
		`braid_quota_units_left{pool="key"} 10`, `braid_quota_units_limit{pool="key"} 1000`,
		`braid_store_bytes{stream="RESULTS"} 500`, `braid_store_limit_bytes{stream="RESULTS"} 1000`, `braid_store_messages{stream="RESULTS"} 5`,
	} {
		if !slices.Contains(have, want) {
			t.Errorf("there is no line %s", want)
		}
	}
	for _, line := range have {
		for _, never := range []string{`braid_store_limit_bytes{stream="PARTS"}`, `braid_quota_units_limit{pool="unknown"}`, `braid_quota_units_left{pool="unknown"}`} {
			if strings.HasPrefix(line, never) {
				t.Errorf("%s: there is no limit", line)
			}
		}
	}
}

func TestWhatCannotBeLearntIsLeftOut(t *testing.T) {
	p := metrics.New(metrics.Config{})
	p.Watch(func(context.Context) (*metrics.System, error) { return nil, errors.New("away") })
	have := strings.Join(ours(scrape(t, p)), "\n")
	if !strings.Contains(have, "braid_store_scrape_success 0") || !strings.Contains(have, "braid_nats_connected 0") || strings.Contains(have, "braid_workers_present") {
		t.Errorf("%s", have)
	}
	// A worker's process asks for nothing, and so says nothing of it.
	if have := strings.Join(ours(scrape(t, metrics.New(metrics.Config{}))), "\n"); strings.Contains(have, "braid_store_scrape_success") {
		t.Errorf("%s", have)
	}
}

func TestManyWhoScrapeCostNoMoreThanOne(t *testing.T) {
	var mu sync.Mutex
	looks := 0
	p := metrics.New(metrics.Config{})
	p.Watch(func(context.Context) (*metrics.System, error) {
		mu.Lock()
		defer mu.Unlock()
		looks++
		return system("usgs"), nil
	})
	for range 20 {
		scrape(t, p)
	}
	if looks > 10 { // an answer stands for two seconds
		t.Errorf("the store was asked %d times", looks)
	}
}

// Whatever names services have, the number of series has a bound, and the answer can be read.
func TestHostileNamesMakeNoMoreSeries(t *testing.T) {
	count := func(names int) int {
		p := metrics.New(metrics.Config{})
		odd := &metrics.System{Now: time.Now()}
		for i := range names {
			name := fmt.Sprintf("evil\"\n{}\\-%d-\xff\xfe-%s", i, strings.Repeat("x", i%300))
			exercise(p, name)
			w := p.Worker()
			w.Interrupted(name, messages.InterruptionKind(name))
			w.ItemEnded(name, name)
			w.Stored(name, &messages.ResultHeader{Outcome: messages.Outcome(name), Rows: -5, Pages: -1, Failure: &messages.Failure{Class: name}})
			w.Requested(name, &messages.Execution{Class: name, Status: i - 500, Bytes: -1, Upstream: -time.Hour}, i%3)
			p.Coordinator().Settled(name, messages.QueryState(name), false)
			p.Request("/v1/"+name, name, i, -1, false)
			one := system(name)
			one.Stores[0].Stream = name
			one.Pools[0].Pool = name
			odd.Queries, odd.Queues, odd.Gates = append(odd.Queries, one.Queries...), append(odd.Queues, one.Queues...), append(odd.Gates, one.Gates...)
			odd.Pools, odd.Stores = append(odd.Pools, one.Pools...), append(odd.Stores, one.Stores...)
		}
		p.Watch(func(context.Context) (*metrics.System, error) { return odd, nil })
		text := scrape(t, p)
		if !strings.Contains(text, `service="other"`) {
			t.Errorf("with %d names none is counted as other", names)
		}
		if _, err := testutil.GatherAndCount(p.Gatherer()); err != nil {
			t.Error(err)
		}
		return len(ours(text))
	}
	few, many := count(400), count(2000)
	if few > 12_000 || many > few+20 {
		t.Errorf("400 names make %d series, 2000 make %d", few, many)
	}
}

func TestNoLabelNamesAQueryAPositionOrAURL(t *testing.T) {
	p := metrics.New(metrics.Config{})
	p.Watch(func(context.Context) (*metrics.System, error) { return system("usgs"), nil })
	exercise(p, "usgs")
	families, err := p.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]bool{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "braid_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = true
			}
		}
	}
	want := map[string]bool{}
	for name := range strings.FieldsSeq("service outcome class code kind ending state pool stream route method version goversion") {
		want[name] = true
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("other labels than those that are known to have few values:\n%s", diff)
	}
}

func TestAGaugeComesBack(t *testing.T) {
	p := metrics.New(metrics.Config{})
	ended := p.Worker().Begun(7)
	p.Worker().ItemTaken("a", false)
	p.Worker().ItemEnded("a", "done")
	p.Worker().SlotTaken("a", 0)
	p.Worker().SlotLeft("a")
	ended()
	p.Subscribed()()
	p.Coordinator().Leads(true)
	p.Coordinator().Leads(false)
	have := ours(scrape(t, p))
	for _, want := range []string{
		"braid_worker_concurrency 0", "braid_worker_running_items 0", `braid_slots_in_use{service="a"} 0`, "braid_api_event_streams 0", "braid_leader 0",
	} {
		if !slices.Contains(have, want) {
			t.Errorf("there is no line %s", want)
		}
	}
}
