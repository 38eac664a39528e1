//go:build unix

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

// Ordinary queries and a load run go to one environment together, by three workers: the target itself tells how many requests of which of
// them it had at once, as they are of two users.
func TestLR_2_8_ALoadRunLeavesOrdinaryQueriesTheirPlaces(t *testing.T) {
	t.Parallel()
	const pool, most, reserved, queries, charts = 9, 8, 4, 4, 10
	const share = pool - reserved // of load: less than the environment's limit
	fake := newDashboards(t, superset.Config{Seed: 7, Cache: superset.CacheNull, Latency: superset.Latency{Base: superset.Distribution{Low: 150 * time.Millisecond}}})
	c := newLoadCluster(t, fake, loadConfig{environment: environmentText{stage: "DEV", pool: pool, most: most, reserved: reserved}})
	var runs []*load.Run // two together have no more than one
	for _, id := range []string{"beside", "too"} {
		run := c.begin(&load.Profile{ID: id, Charts: nineCharts(), Axes: axesOf(60, "Gamma"), Seed: 7, Concurrency: 25, Deadline: 20 * time.Second, Breaker: load.BreakerRules{Disabled: true}})
		if run.Capacity.Effective != share {
			t.Fatalf("capacity %s, want %d", shown(run.Capacity), share)
		}
		runs = append(runs, run)
	}
	eventually(t, limit, "load at its limit", func() bool { return fake.data().InFlight == share })

	d := c.desk()
	var asking []*process
	for i := range queries {
		name := fmt.Sprintf("q%d.yaml", i)
		d.write(name, fmt.Sprintf("schema: query/v1\nservice: %s\ncollection: chart_data\nwhere: {chart: [101, 102, 103, 104, 105, 106, 107, 108, 109, 110]}\n", boards))
		asking = append(asking, d.braid("run", name, "-o", fmt.Sprintf("t%d.csv", i)))
	}
	for _, p := range asking {
		p.wait(limit).mustExit(t, 0)
	}
	sent := 0
	var reported []time.Duration
	for _, run := range runs {
		if s := c.status(run.ID); !s.Run.State.Active() || !s.Run.Closed.IsZero() {
			t.Fatalf("a poor test: the run was over before the queries were: %s", shown(s))
		}
		admitted := c.stop(c, run.ID)
		s := c.end(run.ID)
		if s.Progress.RequestsSent != admitted || s.Progress.Success != admitted {
			t.Errorf("%d requests were admitted when the run was stopped: %s", admitted, shown(s))
		}
		sent += admitted
		executions, err := c.all(run.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range executions {
			if e.Outcome == load.Success {
				reported = append(reported, e.Waits.Upstream)
			}
		}
	}
	fake.idle(t)
	stats := fake.Stats()
	all := inFlight(stats.Log, func(*superset.Request) bool { return true })
	ofLoad := inFlight(stats.Log, func(r *superset.Request) bool { return r.Identity == "gamma" })
	ordinary := inFlight(stats.Log, func(r *superset.Request) bool { return r.Identity == "admin" })
	t.Logf("at once: %d of all, %d of load, %d of queries", all.most, ofLoad.most, ordinary.most)
	if all.most > pool || ofLoad.most > share || all.most != stats.Routes[superset.ChartData].MaxInFlight {
		t.Errorf("%d requests of %d places were in flight at once, and %d of load of %d", all.most, pool, ofLoad.most, share)
	}
	if ordinary.most < reserved {
		t.Errorf("at most %d requests of queries were in flight at once: %d places are reserved for them", ordinary.most, reserved)
	}
	if ofLoad.most != share {
		t.Errorf("load had %d places of its %d", ofLoad.most, share)
	}
	if got, want := ordinary.requests, queries*charts; got != want {
		t.Errorf("%d requests of queries, want %d", got, want)
	}
	if ofLoad.requests != sent {
		t.Errorf("the runs have sent %d requests, the target has counted %d", sent, ofLoad.requests)
	}
	mustMeasure(t, reported, ofLoad.each)
	// While queries had work, the places reserved for them were theirs: the time that they took is that of so many places, and some for
	// what a place costs to change hands.
	if took, alone := ordinary.last-ordinary.first, ordinary.busy/reserved; took > 3*alone+2*time.Second {
		t.Errorf("the queries took %s beside the load; with %d places in use all along it would be %s", took, reserved, alone)
	}
}

// together is what some requests for data did at the target.
type together struct {
	requests, most    int
	first, last, busy time.Duration
	each              []time.Duration
}

// mustMeasure wants of reported latencies that they are, rank by rank, no less than the target's own record of the same requests, and not
// much more. How much more it is on a machine that does nothing else is measured by bench/overhead.
func mustMeasure(t *testing.T, reported, recorded []time.Duration) {
	t.Helper()
	if len(reported) != len(recorded) {
		t.Fatalf("%d latencies of %d requests", len(reported), len(recorded))
	}
	slices.Sort(reported)
	slices.Sort(recorded)
	for i := range reported {
		if reported[i] < recorded[i] {
			t.Fatalf("rank %d of %d is reported as %s, and the target itself took %s", i+1, len(reported), reported[i], recorded[i])
		}
	}
	median := (len(reported)+1)/2 - 1
	t.Logf("p50 %s of %d requests, the target's own %s", reported[median], len(reported), recorded[median])
	if more := reported[median] - recorded[median]; more > 100*time.Millisecond {
		t.Errorf("the median has %s on top of the target's own", more)
	}
}

// inFlight reckons from the target's log how many of the requests were there at once.
func inFlight(log []*superset.Request, of func(*superset.Request) bool) together {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	var sum together
	for _, r := range log {
		if r.Route != superset.ChartData || !of(r) {
			continue
		}
		if sum.requests++; sum.requests == 1 {
			sum.first = r.Arrived
		}
		sum.last = max(sum.last, r.Left)
		sum.busy += r.Left - r.Arrived
		sum.each = append(sum.each, r.Left-r.Arrived)
		edges = append(edges, edge{r.Arrived, 1}, edge{r.Left, -1})
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.step - b.step
	})
	now := 0
	for _, e := range edges {
		now += e.step
		sum.most = max(sum.most, now)
	}
	return sum
}
