//go:build unix

package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/timing"
)

// noon is when all things of the tests happen.
func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// digest gives a SHA-256 in hex by a letter.
func digest(letter string) string { return strings.Repeat(letter, 64) }

// rig is a ledger whose tables are there, and somebody who looks into them.
type rig struct {
	*Ledger
	t    testing.TB
	conn *pgx.Conn
	next uint64 // sequence
}

func newRig(t testing.TB) *rig {
	t.Helper()
	db, conn := database(t)
	l := newLedger(t, db)
	if err := l.store(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return &rig{Ledger: l, t: t, conn: conn}
}

// record is one as a feed would tell it.
func (r *rig) record(feed journal.Feed) *journal.Record {
	r.next++
	return &journal.Record{Feed: feed, Sequence: r.next, Stored: noon().Add(time.Duration(r.next) * time.Millisecond), Ack: func() error { return nil }}
}

func (r *rig) execution(e *load.Execution) *journal.Record {
	record := r.record(journal.Load)
	record.Subject, record.Execution = fmt.Sprintf("braid.load.execution.%s.%d.%d", e.Run, e.Number, e.Attempt), e
	return record
}

func (r *rig) admission(run string, number, attempt int, repeat bool) *journal.Record {
	record := r.record(journal.Load)
	record.Admission = &load.Admission{V: 1, Run: run, Number: number, Attempt: attempt, Repeat: repeat, Worker: "w1", At: noon()}
	return record
}

func (r *rig) mustStore(records ...*journal.Record) {
	r.t.Helper()
	if err := r.store(r.t.Context(), records); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) mustHold(query string, want ...string) {
	r.t.Helper()
	if got := column(r.t, r.conn, query); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.t.Errorf("%s:\n got %q\nwant %q", query, got, want)
	}
}

// mustAddUp wants that aggregates are what the rows amount to.
func (r *rig) mustAddUp() {
	r.t.Helper()
	r.mustHold("SELECT to_json(c)::text FROM braid.v_check AS c")
}

// success is an execution that went well.
func success(run string, number, attempt int) *load.Execution {
	at := noon().Add(time.Duration(number) * time.Second)
	return &load.Execution{
		V: 1, Run: run, Number: number, Attempt: attempt, Chart: int64(100 + number%3), Variation: digest("a"), FiltersHash: digest("b"), Role: "Gamma", TimeRange: "Last month",
		Outcome: load.Success, Status: 200, Waits: timing.Waits{Queue: time.Duration(number) * time.Millisecond, Resource: 20 * time.Microsecond, Upstream: time.Duration(100+number)*time.Millisecond + 345*time.Microsecond},
		Clock:    load.Clock{Source: "stream", Offset: time.Millisecond, Within: 2 * time.Millisecond},
		Enqueued: noon(), Taken: at, Admitted: at, Finished: at.Add(200 * time.Millisecond), Requests: 1, Cache: load.Miss,
		Queries:    []load.QueryOutcome{{IsCached: []byte("null"), CachedDttm: []byte("null"), CacheTimeout: []byte("86400"), CacheKey: []byte(`"k1"`), State: load.Miss, Rows: 2, Source: "superset_response"}},
		BodySHA256: digest("c"), DataSHA256: digest("d"), BodyBytes: 512, WireBytes: 200, Rows: 2, Sample: []byte(`[{"a":1},{"a":2}]`), Worker: "w1",
	}
}

// failing is an execution that did not go well.
func failing(run string, number, attempt int, outcome load.Outcome, kind string) *load.Execution {
	e := success(run, number, attempt)
	e.Outcome, e.Kind, e.Status, e.Cache, e.Queries, e.Sample, e.DataSHA256 = outcome, kind, 0, "", nil, nil, ""
	return e
}

func runOf(id string, total int, state load.State) *load.Run {
	return &load.Run{
		V: 1, ID: id, Environment: "bi", Definition: digest("e"), Snapshot: digest("5"), Fingerprint: "sha256:1", Selection: digest("f"), Theoretical: fmt.Sprint(total), Selected: total, Charts: 1,
		Total: total, Capacity: load.Terms{Class: load.NonProd, Requested: 5, EnvMax: 10, EnvMaxSource: "default", PoolRoom: 15, Ceiling: 25, EnvLoadLimit: 10, Effective: 5, Binding: []string{"requested"}},
		Profile: load.Profile{V: 1, ID: "prof-1", Revision: 2, Name: "Sales", Environment: "bi", Dashboard: "12", Axes: []byte(`{"role":["Gamma"]}`), Cap: 500, Concurrency: 5, Owner: "ana", Breaker: load.BreakerRules{Disabled: true, Window: 100, Minimum: 20, ErrorRate: "0.25", Multiplier: "3"}},
		State:   state, Slots: 5, Owner: "ana", Created: noon(), Updated: noon(),
	}
}

// queryOf is a query's record.
func queryOf(id string, state messages.QueryState) *messages.Query {
	return &messages.Query{
		V: 1, ID: id, Name: "daily", Service: "usgs", Collection: "daily", Definition: digest("1"), Spec: digest("2"), Fingerprint: digest("3"), Chunks: 4, URL: "https://example.test",
		State: state, Run: 1, Created: noon(), Updated: noon(),
	}
}

// log collects what is told. Safe for concurrent use.
type told struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *told) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *told) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// fed is a ledger that reads from a bus.
type fed struct {
	*rig
	bus  *bus.Bus
	log  *told
	stop func()
}

// feedFrom sets a ledger to work on a bus, until the test ends or stop is called.
func feedFrom(t testing.TB, b *bus.Bus, db Database) (l *Ledger, log *told, stop func()) {
	t.Helper()
	log = &told{}
	l, err := New(Config{Database: db, Source: b.Journal(), Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return l, log, stop
}

func newFed(t testing.TB) *fed {
	t.Helper()
	db, conn := database(t)
	b := testkit.Bus(t)
	l, log, stop := feedFrom(t, b, db)
	return &fed{rig: &rig{Ledger: l, t: t, conn: conn}, bus: b, log: log, stop: stop}
}

// until waits until a query gives the one text.
func (f *fed) until(query, want string) {
	f.t.Helper()
	testkit.Until(f.t, query+" is "+want, func() bool {
		rows, err := f.conn.Query(f.t.Context(), query)
		if err != nil {
			return false
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		return err == nil && len(all) == 1 && all[0] == want
	})
}
