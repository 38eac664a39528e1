package loadrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/timing"
)

// house is a desk over a bus in memory, with environments that a test may change.
type house struct {
	t    *testing.T
	m    *memory
	desk *loadrun.Desk

	mu           sync.Mutex // guards what follows
	environments map[string]load.Environment
	dependents   []load.Dependent
	charts       int
	ids          int
}

var (
	runner   = load.Actor{Name: "ann", Team: "bi", Run: true}
	operator = load.Actor{Name: "olga", Team: "bi", Run: true, Prod: true}
)

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{
		t: t, m: newMemory(), charts: 2,
		environments: map[string]load.Environment{
			"dev":  {Name: "dev", BaseURL: "https://dev.example", Stage: "DEV", PoolTimeout: time.Second},
			"prod": {Name: "prod", BaseURL: "https://prod.example", Stage: "PROD", PoolTimeout: time.Second},
		},
		dependents: []load.Dependent{{Kind: "dashboard", ID: 3, Name: "Sales", Dataset: 31}},
	}
	h.m.answer = h.lookUp
	h.desk = h.newDesk()
	return h
}

func (h *house) ports() loadrun.Ports {
	return loadrun.Ports{
		Records: h.m, Files: h.m, Queue: h.m, Intake: h.m, Executions: h.m, Errands: h.m, Services: h.m, Environments: h,
		NewID: h.newID, Now: time.Now,
	}
}

func (h *house) newDesk() *loadrun.Desk { return loadrun.NewDesk(loadrun.Config{ID: "c1"}, h.ports()) }

func (h *house) newID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids++
	return fmt.Sprintf("id%06d", h.ids)
}

func (h *house) Environment(name string) (*loadrun.Definition, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, there := h.environments[name]
	if !there {
		return nil, messages.ErrNotFound
	}
	return &loadrun.Definition{Environment: e, Text: []byte(name), Digest: strings.Repeat("0", 64), Adapter: "superset"}, nil
}

func (h *house) EnvironmentNames() []string { return []string{"dev", "prod"} }

func (h *house) change(edit func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	edit()
}

// lookUp is the answer of a worker.
func (h *house) lookUp(l *load.LookUp) (*load.Snapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, err := json.Marshal(h.dependents)
	if err != nil {
		return nil, err
	}
	s := &load.Snapshot{
		V: load.Version, ID: testkit.Digest(fmt.Sprint(string(text), h.charts)), Environment: l.Environment, Dashboard: 12, Title: "Sales",
		Dependents: load.Dependents{Fingerprint: "sha256:" + testkit.Digest(string(text)), Items: slices.Clone(h.dependents)}, Taken: time.Now(),
	}
	for i := range h.charts {
		s.Charts = append(s.Charts, load.Chart{
			ID: int64(100 + i), Name: fmt.Sprintf("chart %d", i), VizType: "table", Datasource: json.RawMessage(`{"id":31,"type":"table"}`), Queries: 1,
			QueryContext: json.RawMessage(`{"datasource":{"id":31,"type":"table"},"queries":[{"columns":["region"],"metrics":["n"],"filters":[]}],"form_data":{"viz_type":"table"}}`),
		})
	}
	return s, nil
}

func profile(environment string, edit func(*load.Profile)) *load.Profile {
	p := &load.Profile{
		V: load.Version, ID: "sales", Name: "Sales", Environment: environment, Dashboard: "12",
		Axes:        json.RawMessage(`{"time_range":["Last week","Last month","Last year"],"filters":[[{"col":"region","op":"==","val":"EU"}],[{"col":"region","op":"==","val":"US"}]]}`),
		Concurrency: 3,
	}
	if edit != nil {
		edit(p)
	}
	return p
}

// ready stores a profile and looks its dashboard up.
func (h *house) ready(ctx context.Context, p *load.Profile) *load.Preview {
	h.t.Helper()
	if _, err := h.desk.SaveProfile(ctx, operator, p, -1); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.desk.LookUp(ctx, operator, p.ID); err != nil {
		h.t.Fatal(err)
	}
	v, err := h.desk.Preview(ctx, p.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *house) request(v *load.Preview) load.StartRequest {
	return load.StartRequest{Profile: v.Gate.Inputs.Profile, Revision: v.Gate.Inputs.Revision, Fingerprint: v.Gate.Inputs.Fingerprint}
}

func (h *house) start(ctx context.Context, v *load.Preview) *load.Run {
	h.t.Helper()
	r, err := h.desk.Start(ctx, operator, h.request(v))
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// controller leads until the returned function is called, which waits for it.
func (h *house) controller(ctx context.Context, id string, edit func(*loadrun.Ports)) (stop func()) {
	h.t.Helper()
	ports := h.ports()
	ports.Leader = lease.NewMemory(0)
	if edit != nil {
		edit(&ports)
	}
	c, err := loadrun.NewController(loadrun.Config{ID: id}, ports)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			h.t.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// ended waits for a run's end.
func (h *house) ended(ctx context.Context, id string) *load.RunStatus {
	h.t.Helper()
	var last *load.RunStatus
	if err := h.desk.Follow(ctx, id, func(s *load.RunStatus) error { last = s; return nil }); err != nil {
		h.t.Fatal(err)
	}
	return last
}

// crew is the workers of a run: they execute its items as the executor does, and some of them die.
type crew struct {
	h      *house
	run    string
	rng    *rand.Rand
	mu     sync.Mutex // guards rng and what follows
	sent   int        // requests, as the service counts them
	inHand int
	most   int                          // in hand at a time
	came   []int                        // numbers in the order in which they were taken
	answer func(number int) load.Answer // nil: a success after 10 to 100 ms
	deaths float64                      // of an execution: the share in which the worker dies, before or after its request
	begun  func(number int, at, want time.Time)
}

func (c *crew) chance() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Float64()
}

// work executes items until ctx ends.
func (c *crew) work(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			c.h.m.mu.Lock()
			news := c.h.m.news
			c.h.m.mu.Unlock()
			for c.takeOne(ctx, &all) {
			}
			select {
			case <-ctx.Done():
			case <-news:
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

func (c *crew) takeOne(ctx context.Context, all *sync.WaitGroup) bool {
	r, _, err := c.h.m.LoadRun(ctx, c.run)
	if err != nil || r.State == load.Draining || r.State == load.Ended {
		return false
	}
	c.mu.Lock()
	free := c.inHand < r.Slots
	c.mu.Unlock()
	if !free {
		return false
	}
	item, attempt, enqueued := c.h.m.take(c.run)
	if item == nil {
		return false
	}
	c.mu.Lock()
	c.inHand++
	c.most = max(c.most, c.inHand)
	c.came = append(c.came, item.Number)
	c.mu.Unlock()
	all.Go(func() {
		c.execute(ctx, r, item, attempt, enqueued)
		c.mu.Lock()
		c.inHand--
		c.mu.Unlock()
		c.h.m.mu.Lock()
		c.h.m.change() // a place is free
		c.h.m.mu.Unlock()
	})
	return true
}

func (c *crew) execute(ctx context.Context, r *load.Run, item *load.Item, attempt int, enqueued time.Time) {
	sleep := func(d time.Duration) { pauseFor(ctx, d) }
	if e, err := c.h.m.Execution(ctx, r.ID, item.Number); err == nil && e != nil {
		c.h.m.ack(r.ID, item.Number)
		return
	}
	e := &load.Execution{
		V: load.Version, Run: r.ID, Number: item.Number, Attempt: attempt, WarmUp: item.WarmUp, Chart: int64(100 + item.Number%r.Charts),
		Clock: load.Clock{Source: "stream"}, Enqueued: enqueued, Taken: time.Now(), Worker: "w1",
	}
	e.Waits.Queue = e.Taken.Sub(enqueued)
	sleep(time.Duration(c.chance() * float64(20*time.Millisecond)))
	dies := c.chance() < c.deaths
	if dies && c.chance() < 0.5 {
		c.die(ctx, r, item)
		return
	}
	e.Admitted = time.Now()
	e.Waits.Resource = e.Admitted.Sub(e.Taken)
	err := c.h.m.Admit(ctx, &load.Admission{V: load.Version, Run: r.ID, Number: item.Number, Attempt: attempt, Worker: "w1", At: e.Admitted}, 0)
	if err != nil {
		e.Outcome, e.Kind, e.Finished, e.Admitted = load.Cancelled, load.IntakeClosed, time.Now(), time.Time{}
		_ = c.h.m.PublishExecution(ctx, e)
		c.h.m.ack(r.ID, item.Number)
		return
	}
	c.mu.Lock()
	c.sent++
	c.mu.Unlock()
	if c.begun != nil {
		c.begun(item.Number, e.Admitted, item.Intended)
	}
	e.Requests = 1
	if dies {
		c.die(ctx, r, item)
		return
	}
	answer := load.Answer{Outcome: load.Success, Cache: load.Miss, Upstream: 10*time.Millisecond + time.Duration(c.chance()*float64(90*time.Millisecond))}
	if c.answer != nil {
		answer = c.answer(item.Number)
	}
	sleep(answer.Upstream)
	e.Outcome, e.Kind, e.Cache, e.Finished = answer.Outcome, answer.Kind, answer.Cache, time.Now()
	e.Waits = timing.Waits{Queue: e.Waits.Queue, Resource: e.Waits.Resource, Upstream: answer.Upstream}
	if ctx.Err() == nil {
		_ = c.h.m.PublishExecution(ctx, e)
		c.h.m.ack(r.ID, item.Number)
	}
}

// die leaves an item to be delivered again.
func (c *crew) die(ctx context.Context, r *load.Run, item *load.Item) {
	pauseFor(ctx, r.Profile.Deadline+15*time.Second)
	c.h.m.dropped(r.ID, item.Number)
}

func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func newLeader() lease.Store { return lease.NewMemory(0) }

// lead runs a controller until the returned function is called.
func lead(t *testing.T, c *loadrun.Controller) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}
