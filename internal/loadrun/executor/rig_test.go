package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// upstream is a stand-in client which keeps to the order of places, and counts what the service would: requests, and how many at once.
type upstream struct {
	answer func(ctx context.Context, number int) load.Outcome // nil: a success at once

	mu       sync.Mutex // guards all below
	order    []int      // executions, as their requests came
	inFlight int
	most     int
}

// number of an execution is in its variation's role.
func numberOf(r load.Request) (n int) {
	_, _ = fmt.Sscanf(r.Variation.Role, "%d", &n)
	return n + int(r.Chart.ID)
}

func (u *upstream) Execute(ctx context.Context, r load.Request, places load.Places) (load.Answer, error) {
	release, err := places.Shared(ctx)
	if err != nil {
		return load.Answer{}, err
	}
	defer release()
	if err := places.Admit(ctx, false); err != nil {
		return load.Answer{}, err
	}
	a := load.Answer{Admitted: time.Now(), Requests: 1, Outcome: load.Success, Status: 200, Cache: load.Miss}
	u.begin(numberOf(r))
	defer u.end()
	if u.answer != nil {
		if a.Outcome = u.answer(ctx, numberOf(r)); a.Outcome == "" {
			return load.Answer{}, context.Cause(ctx)
		}
	}
	a.Finished = time.Now()
	a.Upstream = a.Finished.Sub(a.Admitted)
	return a, nil
}

func (u *upstream) LookUp(_ context.Context, l *load.LookUp) (*load.Snapshot, error) {
	if l.Dashboard == "nowhere" {
		return nil, &load.LookUpError{Kind: load.NotFound, Status: 404, Message: "there is no such dashboard"}
	}
	return &load.Snapshot{V: 1, ID: testkit.Digest(l.Dashboard), Environment: l.Environment, Title: l.Dashboard}, nil
}

func (u *upstream) begin(number int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.order = append(u.order, number)
	u.inFlight++
	u.most = max(u.most, u.inFlight)
}

func (u *upstream) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inFlight--
}

// counted gives the requests so far, the most at once, and those in flight now.
func (u *upstream) counted() (requests, most, now int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.order), u.most, u.inFlight
}

// rig is a real bus with runs of one environment.
type rig struct {
	t      *testing.T
	server *bus.Server
	bus    *bus.Bus
	js     jetstream.JetStream
	up     *upstream
	where  load.Environment
	charts int
}

const environment = "dashboards"

func newRig(t *testing.T, up *upstream) *rig {
	t.Helper()
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	return &rig{
		t: t, server: server, bus: testkit.Join(t, server), js: testkit.JetStream(t, server), up: up, charts: 3,
		where: load.Environment{Name: environment, PoolTimeout: 20 * time.Second},
	}
}

// apart is the rig with a connection of its own, as another process has.
func (r *rig) apart() *rig {
	other := *r
	other.bus = testkit.Join(r.t, r.server)
	return &other
}

// queued counts the items of all runs that wait or are in hand; waiting, those of one run that nobody has taken.
func (r *rig) queued() int { return testkit.Stored(r.t, r.js, "LOAD_ITEMS") }

func (r *rig) waiting(run string) int {
	r.t.Helper()
	consumer, err := r.js.Consumer(r.t.Context(), "LOAD_ITEMS", run)
	if err != nil {
		r.t.Fatal(err)
	}
	return int(consumer.CachedInfo().NumPending) //nolint:gosec // a count
}

// service says how many requests may be in flight at the environment.
func (r *rig) service(pool int) {
	r.t.Helper()
	svc := &messages.Service{V: 1, Name: environment, Slots: pool, LeaseTTL: 2 * time.Second, Adapter: "superset"}
	if err := r.bus.UpdateService(r.t.Context(), environment, func(*messages.Service) *messages.Service { return svc }); err != nil {
		r.t.Fatal(err)
	}
}

// start stores a run of so many variations, and queues its items.
func (r *rig) start(id string, variations int, edit func(*load.Run)) *load.Run {
	r.t.Helper()
	snapshot := &load.Snapshot{V: 1, ID: testkit.Digest("snapshot"), Environment: environment, Dashboard: 7}
	for c := range r.charts {
		snapshot.Charts = append(snapshot.Charts, load.Chart{ID: int64(c), Datasource: json.RawMessage(`{}`), QueryContext: json.RawMessage(`{}`)})
	}
	var all []load.Variation
	for n := range variations {
		all = append(all, load.Variation{
			ID: testkit.Digest(fmt.Sprint(n)), FiltersHash: testkit.Digest("filters"), Role: fmt.Sprint(n * r.charts), Coordinate: json.RawMessage(`{}`),
		})
	}
	return r.startWith(id, snapshot, all, edit)
}

// startWith is start for a snapshot and variations that are given.
func (r *rig) startWith(id string, snapshot *load.Snapshot, variations []load.Variation, edit func(*load.Run)) *load.Run {
	r.t.Helper()
	selection := &load.Selection{V: 1, Variations: variations}
	run := &load.Run{
		V: 1, ID: id, Environment: environment, Definition: testkit.Digest("definition"), Snapshot: snapshot.ID,
		Profile:  load.Profile{V: 1, ID: "p", Revision: 1, Environment: environment, Deadline: 10 * time.Second, Drain: 5 * time.Second},
		Selected: len(variations), Charts: len(snapshot.Charts), Total: len(variations) * len(snapshot.Charts),
		Capacity: load.Terms{EnvLoadLimit: 10, Effective: 5}, State: load.Running, Slots: 5, Created: r.bus.Now(),
	}
	if edit != nil {
		edit(run)
	}
	ctx := r.t.Context()
	for what, err := range map[string]error{
		"snapshot": r.bus.PutSnapshot(ctx, snapshot), "selection": r.bus.PutSelection(ctx, id, selection),
		"queue": r.bus.EnsureRunQueue(ctx, run, 2*time.Second),
	} {
		if err != nil {
			r.t.Fatal(what, err)
		}
	}
	var items []*load.Item
	for n := range run.Total {
		items = append(items, &load.Item{V: 1, Run: id, Number: n})
	}
	if err := r.bus.PublishLoadItems(ctx, items); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.bus.SaveRun(ctx, run, 0); err != nil {
		r.t.Fatal(err)
	}
	return run
}

// change edits the record of a run.
func (r *rig) change(id string, edit func(*load.Run)) {
	r.t.Helper()
	run, revision, err := r.bus.LoadRun(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	edit(run)
	if _, err := r.bus.SaveRun(r.t.Context(), run, revision); err != nil {
		r.t.Fatal(err)
	}
}

// closeIntake does what a coordinator does when a run is stopped or trips.
func (r *rig) closeIntake(id string) {
	r.t.Helper()
	if err := r.bus.CloseIntake(r.t.Context(), id); err != nil {
		r.t.Fatal(err)
	}
	r.change(id, func(run *load.Run) { run.State, run.Closed = load.Draining, r.bus.Now() })
	if err := r.bus.PurgeRun(r.t.Context(), id); err != nil {
		r.t.Fatal(err)
	}
}

// setup is how an executor is made; a test changes what it is about.
type setup struct {
	executor.Config
	executor.Ports
	client executor.Client
}

// work starts an executor.
func (r *rig) work(id string, edit func(*setup)) *testkit.Running {
	r.t.Helper()
	s := &setup{Config: executor.Config{ID: id, Grace: 10 * time.Second, Beat: 500 * time.Millisecond}, client: r.up}
	s.Ports = executor.Ports{
		Queues: queues{r.bus}, Records: r.bus, Files: r.bus, Intake: r.bus, Executions: r.bus, Errands: r.bus,
		Leases: r.bus.Leases(), Clock: r.bus.StreamClock(), Local: time.Now, Now: r.bus.Now, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(s)
	}
	if s.Clients == nil {
		s.Clients = clients{s.client, &r.where}
	}
	x, err := executor.New(s.Config, s.Ports)
	if err != nil {
		r.t.Fatal(err)
	}
	return testkit.Run(r.t, x.Run)
}

type clients struct {
	client executor.Client
	where  *load.Environment
}

func (c clients) Client(context.Context, string, string) (executor.Client, *load.Environment, error) {
	return c.client, c.where, nil
}

func (c clients) Serves(environment, _ string) bool { return environment == c.where.Name }

type queues struct{ bus *bus.Bus }

func (q queues) RunQueue(ctx context.Context, run string) (executor.Queue, error) {
	opened, err := q.bus.RunQueue(ctx, run)
	return queue{opened}, err
}

type queue struct{ queue *bus.RunQueue }

func (q queue) TakeOne(ctx context.Context, wait time.Duration) (executor.Delivery, error) {
	d, err := q.queue.TakeOne(ctx, wait, func(error) {})
	if d == nil {
		return nil, err
	}
	return delivery{d}, nil
}

type delivery struct{ *bus.LoadDelivery }

func (d delivery) Item() *load.Item    { return d.LoadDelivery.Item }
func (d delivery) Attempt() int        { return d.LoadDelivery.Attempt }
func (d delivery) Enqueued() time.Time { return d.LoadDelivery.Enqueued }

// kept is what is stored of a run.
type kept struct {
	executions []*load.Execution
	admissions []*load.Admission
	first      map[int]*load.Execution // by number
	last       uint64                  // sequence of the last admission
}

// records reads all that is stored of a run.
func (r *rig) records(id string) *kept {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	k := &kept{first: map[int]*load.Execution{}}
	err := r.bus.TrackRun(ctx, id, load.RunTracker{
		Admission: func(a *load.Admission, seq uint64) { k.admissions, k.last = append(k.admissions, a), seq },
		Execution: func(e *load.Execution, _ uint64, _ time.Time) {
			k.executions = append(k.executions, e)
			if k.first[e.Number] == nil {
				k.first[e.Number] = e
			}
		},
		Bad:      func(_ uint64, err error) { r.t.Error(err) },
		CaughtUp: cancel,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return k
}

// recorded waits until each of n numbers has a record.
func (r *rig) recorded(id string, n int) *kept {
	r.t.Helper()
	var k *kept
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for have := -1; have < n; have = len(k.first) { // a busy machine may be slow, as long as it goes on
		testkit.Until(r.t, fmt.Sprintf("more than %d of %d executions of %s have a record", have, n, id), func() bool {
			<-tick.C
			k = r.records(id)
			return len(k.first) > have
		})
	}
	return k
}

// again counts the records beside the first of each number: those of attempts that were under way twice, when a worker was taken for dead. No attempt has
// two.
func (r *rig) again(k *kept) int {
	r.t.Helper()
	seen := map[[2]int]bool{}
	for _, e := range k.executions {
		if seen[[2]int{e.Number, e.Attempt}] {
			r.t.Errorf("attempt %d of %d has two records", e.Attempt, e.Number)
		}
		seen[[2]int{e.Number, e.Attempt}] = true
	}
	return len(k.executions) - len(k.first)
}

// agrees checks that as many admissions are stored as the upstream has counted requests.
func (r *rig) agrees(k *kept) {
	r.t.Helper()
	if requests, _, _ := r.up.counted(); len(k.admissions) != requests {
		r.t.Errorf("%d admissions are stored, and %d requests were counted", len(k.admissions), requests)
	}
}

// outcomes counts the first records by outcome and kind.
func (k *kept) outcomes() map[string]int {
	counts := map[string]int{}
	for _, e := range k.first {
		counts[string(e.Outcome)+"/"+e.Kind]++
	}
	return counts
}
