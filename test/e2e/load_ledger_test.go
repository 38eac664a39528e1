//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/ledger"
	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

// ledgerAway is how long PostgreSQL is away in the middle of a run; when it is set, as 20s, the run is as large as it is meant to be.
const ledgerAway = "BRAID_E2E_LEDGER_AWAY"

// A run of 9 charts × many variations on three workers, of which one is killed with requests in flight, while PostgreSQL is away for some
// time and all tokens expire; then one that its breaker ends. What the target has counted, the rows of the ledger, its aggregates and both
// reports are one and the same.
func TestLR_11_1_TheLedgerHasWhatTheTargetHasCountedWhateverHappensInBetween(t *testing.T) {
	t.Parallel()
	away, variations := 2*time.Second, 150
	if testing.Short() {
		variations = 60
	}
	if text := os.Getenv(ledgerAway); text != "" {
		var err error
		variations = 500
		if away, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", ledgerAway, err)
		}
	}
	server := newDatabase(t)
	database := server.Database(t)
	fake := newDashboards(t, superset.Config{Seed: 7, AccessTTL: 5 * time.Minute})
	c := newLoadCluster(t, fake, loadConfig{environment: environmentText{stage: "DEV", pool: 30, most: 25}, ledger: server.URL("postgres", database)})
	l := &loadLedger{c, &databaseRig{t: t, name: database, server: server}}

	p := &load.Profile{
		ID: "release", Charts: nineCharts(), Axes: axesOf(400, "Admin", "Gamma"), Cap: variations, Seed: 7, Concurrency: 25,
		Deadline: 4 * time.Second, Breaker: load.BreakerRules{Disabled: true},
	}
	run := c.begin(p)
	if want := 9 * variations; run.Total != want || run.Capacity.Effective != 25 {
		t.Fatalf("%d executions of capacity %+v, want %d", run.Total, run.Capacity, want)
	}
	c.recorded(c, run.ID, run.Total/10)
	began := time.Now()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	// Only where all places are at the target is nobody between an admission and its request: the counts are equal then, whoever dies.
	var frozen time.Time
	eventually(t, limit, "requests of all places in flight", func() bool {
		if time.Since(frozen) > freeze {
			fake.Freeze(freeze)
			frozen = time.Now()
		}
		return fake.data().InFlight == 25
	})
	c.work[1].kill()
	fake.Advance(10 * time.Minute) // no token is good any more
	before := c.status(run.ID).Progress.Recorded
	c.recorded(c, run.ID, before+run.Total/20) // the run goes on without the ledger
	pass(time.Until(began.Add(away)))
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	s := c.end(run.ID)
	if s.Run.Ending != load.Completed || s.Progress.Success != run.Total {
		t.Errorf("%s", shown(s))
	}
	l.mustAgree(s, 0)
	stats := fake.Counters()
	if sent := stats.Routes[superset.ChartData].Requests; sent <= run.Total {
		t.Errorf("%d requests of %d executions: nothing was in flight when the worker was killed, or no token had expired", sent, run.Total)
	}
	if most := stats.Routes[superset.ChartData].MaxInFlight; most > 25 {
		t.Errorf("%d were in flight at once, of 25 places", most)
	}
	if stats.Logins["admin"] > 2 || stats.Logins["gamma"] > 2 {
		t.Errorf("%v logins: workers do not share them", stats.Logins)
	}
	l.tripped()
}

// freeze is how long the target gives no answer: less than the deadline.
const freeze = 2 * time.Second

// loadLedger holds a cluster's runs against the ledger.
type loadLedger struct {
	*loadCluster
	db *databaseRig
}

func (c *loadCluster) status(id string) *load.RunStatus {
	c.t.Helper()
	s, err := c.Run(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// tripped runs into a breaker.
func (l *loadLedger) tripped() {
	l.t.Helper()
	before := l.fake.data().Requests
	l.fake.change(l.t, func(c *superset.Config) {
		c.Faults = []superset.Fault{{Match: superset.Match{From: before + 200, Rate: 0.7}, Action: superset.Status, Status: 500}}
	})
	p := &load.Profile{ID: "broken", Charts: nineCharts(), Axes: axesOf(200), Cap: 200, Seed: 9, Concurrency: 25, Deadline: 2 * time.Second}
	run := l.begin(p)
	eventually(l.t, limit, "the breaker to trip", func() bool { return !l.status(run.ID).Run.Closed.IsZero() })
	admitted := l.admitted(run.ID)
	s := l.end(run.ID)
	if s.Run.Ending != load.Tripped || s.Run.Trip == nil || s.Progress.NotDispatched == 0 {
		l.t.Errorf("%s", shown(s))
	}
	l.fake.idle(l.t)
	if sent := l.fake.data().Requests - before; sent != admitted {
		l.t.Errorf("%d requests, of %d that were admitted when the breaker tripped", sent, admitted)
	}
	l.mustAgree(s, before)
}

// mustAgree wants of a run that the target's count, the admissions, the ledger's rows and aggregates, and both reports agree. before is how
// many requests the target had counted when the run began.
func (l *loadLedger) mustAgree(s *load.RunStatus, before int) {
	l.t.Helper()
	id, report := s.Run.ID, l.report(s.Run.ID)
	l.db.conn = l.db.server.Connect(l.t, l.db.name)
	executions, err := l.all(id)
	if err != nil {
		l.t.Fatal(err)
	}
	eventually(l.t, limit, "the ledger to have all of the run", func() bool {
		return l.db.one("SELECT coalesce((SELECT format('%s %s %s', state, attempts, requests_sent) FROM braid.v_run_summary WHERE run = '"+id+"'), '')") ==
			"ended "+strconv.Itoa(report.Attempts)+" "+strconv.Itoa(report.RequestsSent)
	})
	sent := l.fake.data().Requests - before
	for what, got := range map[string]int{
		"the progress": s.Progress.RequestsSent, "the report": report.RequestsSent,
		"the ledger's admissions": l.number("SELECT count(*)::text FROM braid.admissions WHERE run = '" + id + "'"),
	} {
		if got != sent {
			l.t.Errorf("%s has %d requests, the target has counted %d", what, got, sent)
		}
	}
	if rows := l.number("SELECT count(*)::text FROM braid.executions WHERE counted AND run = '" + id + "'"); rows != s.Progress.Recorded || rows != len(executions) || rows != s.Run.Total-s.Progress.NotDispatched {
		l.t.Errorf("%d rows, %d executions told by the API, %d recorded, %d not dispatched of %d", rows, len(executions), s.Progress.Recorded, s.Progress.NotDispatched, s.Run.Total)
	}
	if wrong := l.number("SELECT count(*)::text FROM braid.v_check"); wrong != 0 {
		l.t.Errorf("the totals of %d runs are not what their rows amount to", wrong)
	}
	if got := l.db.one("SELECT format('%s %s %s %s', success, errors, timeouts, cancelled) FROM braid.run_totals WHERE run = '" + id + "'"); got !=
		strconv.Itoa(s.Progress.Success)+" "+strconv.Itoa(s.Progress.Errors)+" "+strconv.Itoa(s.Progress.Timeouts)+" "+strconv.Itoa(s.Progress.Cancelled) {
		l.t.Errorf("the ledger's totals are %s, the run's progress is %s", got, shown(s.Progress))
	}
	l.mustReproduce(report)
}

// mustReproduce wants the report by the query for people alone.
func (l *loadLedger) mustReproduce(want *load.Report) {
	l.t.Helper()
	var text []byte
	if err := l.db.conn.QueryRow(l.t.Context(), ledger.ReportSQL(), want.Run).Scan(&text); err != nil {
		l.t.Fatal(err)
	}
	var got load.Report
	if err := json.Unmarshal(text, &got); err != nil {
		l.t.Fatal(err)
	}
	// What is the engine's own, and no number of the rows.
	got.Diagnostics, got.Thresholds, got.Verdict, got.Breaker, got.Trip, got.ChartIDs, got.Labels = want.Diagnostics, want.Thresholds, want.Verdict, want.Breaker, want.Trip, want.ChartIDs, want.Labels
	got.Created, got.Started, got.Closed, got.Ended = want.Created, want.Started, want.Closed, want.Ended
	if diff := cmp.Diff(indented(l.t, want), indented(l.t, &got)); diff != "" {
		l.t.Errorf("the report by SQL alone is another one:\n%.3000s", diff)
	}
}

func (l *loadLedger) number(query string) int {
	l.t.Helper()
	n, err := strconv.Atoi(l.db.one(query))
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// all reads the run's executions page by page.
func (c *loadCluster) all(id string) ([]*load.Execution, error) {
	var all []*load.Execution
	for after := -1; ; {
		page, next, err := c.Executions(c.t.Context(), id, load.ExecutionFilter{After: after, Limit: load.MaxExecutions})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next < 0 {
			return all, nil
		}
		after = next
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
