//go:build unix

package ledger

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// publish stores executions of a run in the stream, each with its admission.
func (f *fed) publish(run string, from, to int) {
	f.t.Helper()
	for number := from; number < to; number++ {
		if err := f.bus.Admit(f.t.Context(), &load.Admission{V: 1, Run: run, Number: number, Attempt: 1, Worker: "w1", At: noon()}, number%load.MaxPlaces); err != nil {
			f.t.Fatal(err)
		}
		e := success(run, number, 1)
		if number%10 == 9 {
			e = failing(run, number, 1, load.Error, load.ServerError)
		}
		if err := f.bus.PublishExecution(f.t.Context(), e); err != nil {
			f.t.Fatal(err)
		}
	}
}

// mustHaveAll waits until executions 0 to n-1 of a run are in the database, and wants that everything adds up.
func (f *fed) mustHaveAll(run string, n int) {
	f.t.Helper()
	f.until(fmt.Sprintf("SELECT count(*)::text FROM braid.executions WHERE run = '%s'", run), fmt.Sprint(n))
	f.until(fmt.Sprintf("SELECT coalesce(max(requests_sent), 0)::text FROM braid.run_totals WHERE run = '%s'", run), fmt.Sprint(n))
	f.mustAddUp()
	f.mustHold(fmt.Sprintf("SELECT format('%%s %%s', success, errors) FROM braid.run_totals WHERE run = '%s'", run), fmt.Sprintf("%d %d", n-n/10, n/10))
}

// mustHaveRead waits until nothing is unread.
func (f *fed) mustHaveRead() {
	f.t.Helper()
	source := f.bus.Journal()
	testkit.Until(f.t, "all is acknowledged", func() bool {
		for _, feed := range journal.Feeds() {
			if lag, err := source.Lag(f.t.Context(), feed); err != nil || lag.Unread > 0 {
				return false
			}
		}
		return true
	})
}

func TestEachFeedComesIntoTheDatabase(t *testing.T) {
	f := newFed(t)
	q := queryOf("q1", messages.Running)
	if err := f.bus.CreateQuery(t.Context(), q, []byte("spec")); err != nil {
		t.Fatal(err)
	}
	if err := f.bus.PublishInterruption(t.Context(), &messages.Interruption{V: 1, Query: "q1", Run: 1, Position: "1", Service: "usgs", Kind: messages.ServiceInterrupted, Status: 503, Reason: "away", Worker: "w1", At: noon()}); err != nil {
		t.Fatal(err)
	}
	err := f.bus.PublishExecutions(t.Context(), &messages.Executions{V: 1, Query: "q1", Run: 1, Worker: "w1", Executions: []messages.Execution{{Position: "1", Attempt: "a1", Try: 1, Class: "ok", Status: 200, Sent: noon()}}})
	if err != nil {
		t.Fatal(err)
	}
	w := f.bus.NewResult("q1", "a1")
	if err := w.Write(t.Context(), []byte("{\"a\":1}\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context(), &messages.ResultHeader{V: 1, Query: "q1", Run: 1, Position: "1", Outcome: messages.OutcomeRows, Rows: 1, Pages: 1, Requests: 1, Attempt: "a1", Worker: "w1", Started: noon(), Finished: noon()}); err != nil {
		t.Fatal(err)
	}
	if err := f.bus.PutSnapshot(t.Context(), &load.Snapshot{V: 1, ID: digest("5"), Environment: "bi", Dashboard: 12, Charts: []load.Chart{{ID: 101, Name: "Revenue", VizType: "bar", Datasource: []byte("{}"), QueryContext: []byte("{}"), Queries: 1}}, Taken: noon()}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.bus.SaveRun(t.Context(), runOf("run-1", 3, load.Running), 0); err != nil {
		t.Fatal(err)
	}
	f.publish("run-1", 0, 3)
	f.mustHaveAll("run-1", 3)
	f.until("SELECT service || state FROM braid.queries", "usgsrunning")
	f.until("SELECT outcome || result_rows FROM braid.chunks", "rows1")
	f.until("SELECT class FROM braid.attempts", "ok")
	f.until("SELECT kind FROM braid.interruptions", "service")
	f.until("SELECT state FROM braid.load_runs", "running")
	f.until("SELECT name FROM braid.load_charts", "Revenue")
	f.mustHaveRead()
	if err := f.bus.RemoveQuery(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	f.until("SELECT (removed IS NOT NULL)::text FROM braid.queries", "true")
	f.mustHold("SELECT count(*)::text FROM braid.chunks", "1") // the record stays
}

func TestLR_6_2_ABatchIsOfFiftyOrOfASecond(t *testing.T) {
	f := newFed(t)
	f.publish("run-1", 0, 1)
	published := time.Now()
	f.until("SELECT count(*)::text FROM braid.executions", "1") // one alone: it does not wait for forty-nine others
	if waited := time.Since(published); waited > 30*time.Second {
		t.Errorf("it took %s", waited)
	}
	// All records of one transaction have one xmin.
	mustExec(t, f.conn, "CREATE VIEW per_batch AS SELECT xmin::text AS batch, count(*) AS n FROM (SELECT xmin FROM braid.executions UNION ALL SELECT xmin FROM braid.admissions) AS x GROUP BY 1")
	f.publish("run-1", 1, 200)
	f.mustHaveAll("run-1", 200)
	f.mustHold("SELECT (max(n) <= 50)::text FROM per_batch", "true")
}

func TestGatherGivesABatchWhenItIsFullOrOldEnough(t *testing.T) {
	many := &scripted{records: make(chan *journal.Record, 200)}
	for range 120 {
		many.records <- &journal.Record{}
	}
	for _, want := range []int{50, 50, 20} { // the last one is old enough, and not full
		got, err := gather(t.Context(), many)
		if err != nil || len(got) != want {
			t.Errorf("%d records: %v, want %d", len(got), err, want)
		}
	}
}

// LR-6.2: what was gathered is flushed when the process ends.
func TestLR_6_2_WhatIsInHandIsStoredWhenTheProcessEnds(t *testing.T) {
	f := newFed(t)
	f.publish("run-1", 0, 60)
	f.until("SELECT (count(*) > 0)::text FROM braid.executions", "true")
	f.stop()
	before := column(t, f.conn, "SELECT count(*)::text FROM braid.executions")[0]
	f.mustAddUp()
	_, _, stop := feedFrom(t, f.bus, f.cfg.Database)
	defer stop()
	f.mustHaveAll("run-1", 60)
	t.Logf("%s before the second process", before)
}

func TestTwoFeedersAtOnceDoNoHarm(t *testing.T) {
	f := newFed(t)
	feedFrom(t, f.bus, f.cfg.Database)
	f.publish("run-1", 0, 150)
	f.publish("run-2", 0, 50)
	f.mustHaveAll("run-1", 150)
	f.mustHaveAll("run-2", 50)
}

func TestOnlyWhoLeadsFeeds(t *testing.T) {
	f := newFed(t)
	f.stop()
	var leads atomic.Bool
	l, err := New(Config{Database: f.cfg.Database, Source: f.bus.Journal(), Leads: func(context.Context) bool { return leads.Load() }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool, 1)
	go func() { l.Run(ctx); ended <- true }()
	f.publish("run-1", 0, 5)
	if s := l.Standing(); s.State != Standby || s.Stored > 0 {
		t.Errorf("it feeds: %+v", s)
	}
	leads.Store(true)
	f.mustHaveAll("run-1", 5)
	leads.Store(false)
	testkit.Until(t, "it stands by", func() bool { return l.Standing().State == Standby })
	stop()
	testkit.Receive(t, "its end", ended)
}

// scripted is a reader of records that are there.
type scripted struct{ records chan *journal.Record }

func (s *scripted) Next(ctx context.Context) (*journal.Record, error) {
	select {
	case r := <-s.records:
		return r, nil
	default:
	}
	select {
	case r := <-s.records:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *scripted) Close() {}
