//go:build unix

package ledger

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
)

// The report of a run, by SQL alone, is the one that the engine makes of the same records.
func TestTheReportOfARunIsReproducedBySQLAlone(t *testing.T) {
	for name, state := range map[string]load.State{"ended": load.Ended, "running": load.Running, "draining": load.Draining} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			run := runOf("run-1", 400, state)
			run.Charts, run.Selected = 4, 100
			run.Profile.Axes = []byte(`{"filters":[[{"col":"day","op":"TEMPORAL_RANGE","val":"Last week"}],[]]}`)
			if state != load.Running {
				run.Closed = noon().Add(time.Minute)
			}
			if state == load.Ended {
				run.Ending, run.Ended = load.Stopped, noon().Add(time.Hour)
			}
			snapshot := &load.Snapshot{V: 1, ID: run.Snapshot, Environment: "bi", Dashboard: 12, Title: "Sales", Taken: noon()}
			for _, id := range []int64{103, 101, 102} { // a fourth one is not in it
				snapshot.Charts = append(snapshot.Charts, load.Chart{
					ID: id, Name: fmt.Sprint("Chart ", id), VizType: "bar", Datasource: []byte(`{"id":1,"type":"table"}`), Queries: 1,
					QueryContext: []byte(`{"datasource":{"id":1,"type":"table"},"queries":[{"columns":["a"],"metrics":["b"],"time_range":"Last month"}]}`),
				})
			}
			fold, err := load.NewFold(run, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			all := manyRecords(r, fold, run)
			record := r.record(journal.Runs)
			record.Run, record.Snapshot = run, snapshot
			all = append(all, record)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for len(all) > 0 {
				n := min(len(all), MostRecords)
				r.mustStore(all[:n]...)
				all = all[n:]
			}
			r.mustAddUp()
			text, err := r.cfg.Database.Report(t.Context(), "run-1")
			if err != nil {
				t.Fatal(err)
			}
			var got load.Report
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			want := fold.Report()
			if len(want.Findings) < 2 || len(want.Kinds) < 3 || want.Overall.Success < 50 {
				t.Fatalf("a poor test: %+v", want)
			}
			// What is the engine's own, and no number of the rows.
			got.Diagnostics, got.Thresholds, got.Verdict, got.Breaker, got.Trip, got.ChartIDs, got.Labels = want.Diagnostics, want.Thresholds, want.Verdict, want.Breaker, want.Trip, want.ChartIDs, want.Labels
			got.Created, got.Started, got.Closed, got.Ended = want.Created, want.Started, want.Closed, want.Ended
			if diff := cmp.Diff(indented(t, want), indented(t, &got)); diff != "" {
				t.Error(diff)
			}
			// The views agree with it.
			r.mustHold("SELECT format('%s %s %s %s', samples, upstream_p50_ms::float, upstream_p99_ms::float, findings) FROM braid.v_run_summary",
				fmt.Sprintf("%d %s %s %d", want.Overall.Upstream.Samples, want.Overall.Upstream.P50, want.Overall.Upstream.P99, len(want.Findings)))
			hits := 0
			for _, mix := range want.Overall.States {
				if mix.State == load.Hit {
					hits += mix.Count
				}
			}
			r.mustHold("SELECT round(hit_rate, 6)::text FROM braid.v_run_summary", big.NewRat(int64(hits), int64(want.Overall.Success)).FloatString(6))
			r.mustHold("SELECT count(*)::text FROM braid.v_run_groups", fmt.Sprint(len(want.Groups)))
		})
	}
}

func indented(t *testing.T, r *load.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manyRecords are of all kinds; the fold is told of them in the order of the stream.
func manyRecords(r *rig, fold *load.Fold, run *load.Run) []*journal.Record {
	random := rand.New(rand.NewPCG(7, 7))
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	var all []*journal.Record
	for number := range 300 {
		for attempt := 1; attempt <= 1+random.IntN(8)/7; attempt++ {
			e := success(run.ID, number, attempt)
			switch random.IntN(10) {
			case 0:
				e = failing(run.ID, number, attempt, load.Error, pick(load.ServerError, load.QueryFailed))
			case 1:
				e = failing(run.ID, number, attempt, load.Timeout, load.Deadline)
			case 2:
				e = failing(run.ID, number, attempt, load.Cancelled, load.ResourceTimeout)
			case 3:
				e = failing(run.ID, number, attempt, load.NotStarted, "")
			default:
				e.Cache = load.CacheState(pick("hit", "miss", "miss", "mixed", "unknown"))
				e.Async = random.IntN(5) == 0
				if random.IntN(6) == 0 {
					e.DataSHA256, e.Sample = digest("7"), []byte(pick(`[{"a":2},{"a":1}]`, `[{"a":3},{"a":1}]`))
				}
			}
			e.WarmUp = number < 10
			e.Chart = int64(100 + number%4)
			e.Role, e.TimeRange, e.FiltersHash = pick("Gamma", "alpha", "Émile"), pick("", "Last month", "2026-01-01 : 2026-02-01"), pick(append(run.Profile.RelativeFilters(), digest("b"))...)
			if e.Chart == 103 { // what the dashboard's first chart lacks is not listed behind what it has
				if e.Role == "Gamma" {
					e.Role = "alpha"
				}
				if e.Cache == load.Hit {
					e.Cache = load.Miss
				}
			}
			e.Waits.Upstream = time.Duration(random.Int64N(3e9))
			e.Waits.Queue, e.Waits.Resource = time.Duration(random.Int64N(3e8)), time.Duration(random.Int64N(3000))
			if number%2 == 0 {
				late := e.Waits.Upstream + time.Millisecond
				e.Late = &late
			}
			if number%7 == 0 {
				of := 0
				e.RepeatOf = &of
			}
			if e.Outcome != load.NotStarted {
				for i := range 1 + random.IntN(12)/11 {
					admission := r.admission(run.ID, number, attempt, i == 1)
					fold.Admission(admission.Admission)
					all = append(all, admission)
				}
			}
			if number%50 == 49 {
				continue // it is in flight
			}
			all = append(all, r.execution(e))
			fold.Execution(e)
		}
	}
	return all
}

// LR-3.4: the ledger's percentile is the nearest rank, exactly, also where percentile_disc is not.
func TestLR_3_4_ThePercentileOfTheDatabaseIsTheNearestRank(t *testing.T) {
	r := newRig(t)
	text, err := os.ReadFile("testdata/percentiles.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			ID       string
			Category string
			In       struct {
				Values []json.Number
				P      []string
			}
			Want json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, v := range file.Vectors {
		if v.Category == "summary" {
			continue // of samples, which pkg/timing sums up
		}
		var wanted map[string]*struct {
			Rank  int
			Value json.Number
		}
		if err := json.Unmarshal(v.Want, &wanted); err != nil {
			t.Fatal(err)
		}
		values := make([]string, len(v.In.Values))
		for i, value := range v.In.Values {
			values[i] = value.String()
		}
		for _, p := range v.In.P {
			tried++
			var got *string
			err := r.conn.QueryRow(t.Context(), "SELECT braid.nearest_rank(array_agg(x ORDER BY x), $2::numeric)::text FROM unnest($1::numeric[]) AS x", "{"+strings.Join(values, ",")+"}", p).Scan(&got)
			switch want := wanted[p]; {
			case err != nil:
				t.Errorf("%s: p%s: %v", v.ID, p, err)
			case (got == nil) != (want == nil):
				t.Errorf("%s: p%s is %v, want %v", v.ID, p, got, want)
			case want != nil && rat(*got).Cmp(rat(want.Value.String())) != 0:
				t.Errorf("%s: p%s is %s, want %s", v.ID, p, *got, want.Value)
			}
		}
	}
	if tried == 0 {
		t.Error("nothing was tried")
	}
	// Why percentile_disc is not used: of a hundred values the 55th is that of 55 %.
	r.mustHold("SELECT braid.nearest_rank(array_agg(x ORDER BY x), 55) || ' and not ' || percentile_disc(0.55) WITHIN GROUP (ORDER BY x) FROM generate_series(1, 100) AS x", "55 and not 56")
}

func rat(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}
