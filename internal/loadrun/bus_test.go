package loadrun_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// site is a desk, controllers and an executor on a real bus, with a client in the place of the service.
type site struct {
	*house
	server *bus.Server
	bus    *bus.Bus

	unserved time.Duration // of controllers; 0: their default
	garbled  atomic.Bool   // definitions cannot be read by workers

	counting sync.Mutex // guards what follows
	sent     int
	answer   func(nth int) load.Answer
}

func newSite(t *testing.T) *site {
	t.Helper()
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	s := &site{house: newHouse(t), server: server, bus: testkit.Join(t, server)}
	s.answer = func(int) load.Answer {
		return load.Answer{Outcome: load.Success, Status: 200, Cache: load.Miss, Upstream: time.Millisecond}
	}
	s.desk = loadrun.NewDesk(loadrun.Config{ID: "c1", LeaseTTL: 2 * time.Second}, s.ports(s.bus))
	return s
}

func (s *site) ports(b *bus.Bus) loadrun.Ports {
	return loadrun.Ports{
		Records: b, Files: b, Queue: b, Intake: b, Executions: b, Errands: b, Services: b, Environments: s.house, Leader: b.Leader(), Places: b.Leases(),
		NewID: s.newID, Now: b.Now,
	}
}

// control runs a controller on a connection of its own.
func (s *site) control(id string) *testkit.Running {
	s.t.Helper()
	c, err := loadrun.NewController(loadrun.Config{ID: id, LeaderTTL: time.Second, UnservedAfter: s.unserved}, s.ports(testkit.Join(s.t, s.server)))
	if err != nil {
		s.t.Fatal(err)
	}
	return testkit.Run(s.t, c.Run)
}

// work starts the workers' part.
func (s *site) work() {
	s.t.Helper()
	b := testkit.Join(s.t, s.server)
	x, err := executor.New(executor.Config{ID: "w1", Grace: 10 * time.Second}, executor.Ports{
		Queues: siteQueues{b}, Records: b, Files: b, Intake: b, Executions: b, Errands: b, Clients: s,
		Leases: b.Leases(), Clock: b.StreamClock(), Local: time.Now, Now: b.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	testkit.Run(s.t, x.Run)
}

func (s *site) Client(_ context.Context, environment, _ string) (executor.Client, *load.Environment, error) {
	if s.garbled.Load() {
		return nil, nil, fmt.Errorf("%w: a key of the definition is not known here", messages.ErrInvalid)
	}
	d, err := s.Environment(environment)
	if err != nil {
		return nil, nil, err
	}
	return s, &d.Environment, nil
}

func (s *site) Serves(environment, _ string) bool {
	return environment == "dev" || environment == "prod"
}

// Execute counts a request, as the service would.
func (s *site) Execute(ctx context.Context, _ load.Request, places load.Places) (load.Answer, error) {
	release, err := places.Shared(ctx)
	if err != nil {
		return load.Answer{}, err
	}
	defer release()
	if err := places.Admit(ctx, false); err != nil {
		return load.Answer{}, err
	}
	s.counting.Lock()
	s.sent++
	a := s.answer(s.sent)
	s.counting.Unlock()
	a.Admitted, a.Requests = time.Now(), 1
	a.Finished = a.Admitted.Add(a.Upstream)
	return a, nil
}

func (s *site) LookUp(_ context.Context, l *load.LookUp) (*load.Snapshot, error) { return s.lookUp(l) }

func (s *site) requests() int {
	s.counting.Lock()
	defer s.counting.Unlock()
	return s.sent
}

// checkWhole checks a run that has ended: its counts add up and are those of the service, and nothing was admitted when the intake was closed.
func (s *site) checkWhole(status *load.RunStatus) *load.Report {
	s.t.Helper()
	p, r := status.Progress, status.Run
	if sum := p.Success + p.Errors + p.Timeouts + p.Cancelled + p.NotStarted + p.NotDispatched; sum != r.Total || p.RequestsSent != s.requests() {
		s.t.Errorf("%+v; the service counted %d requests of %d executions", p, s.requests(), r.Total)
	}
	report, err := s.desk.Report(s.t.Context(), r.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	if report.RequestsSent != s.requests() || report.Overall.Completed != p.Success+p.Errors+p.Timeouts || report.InFlight != 0 {
		s.t.Errorf("the report has %d requests and %d completions, %+v", report.RequestsSent, report.Overall.Completed, p)
	}
	if err := s.bus.Admit(s.t.Context(), &load.Admission{V: load.Version, Run: r.ID, Number: 0, Attempt: 99, Worker: "late", At: time.Now()}, 0); !errors.Is(err, load.ErrIntakeClosed) {
		s.t.Errorf("an admission after the end gave %v", err)
	}
	return report
}

type siteQueues struct{ bus *bus.Bus }

func (q siteQueues) RunQueue(ctx context.Context, run string) (executor.Queue, error) {
	opened, err := q.bus.RunQueue(ctx, run)
	return siteQueue{opened}, err
}

type siteQueue struct{ queue *bus.RunQueue }

func (q siteQueue) TakeOne(ctx context.Context, wait time.Duration) (executor.Delivery, error) {
	d, err := q.queue.TakeOne(ctx, wait, func(error) {})
	if d == nil {
		return nil, err
	}
	return siteDelivery{d}, nil
}

type siteDelivery struct{ *bus.LoadDelivery }

func (d siteDelivery) Item() *load.Item    { return d.LoadDelivery.Item }
func (d siteDelivery) Attempt() int        { return d.LoadDelivery.Attempt }
func (d siteDelivery) Enqueued() time.Time { return d.LoadDelivery.Enqueued }

func TestLR_11_1_OnARealBusARunGoesThroughAllOfIt(t *testing.T) {
	s := newSite(t)
	s.work()
	s.control("c1")
	v := s.ready(t.Context(), wide("dev", func(p *load.Profile) { p.Preflight = true }))
	status := s.ended(t.Context(), s.start(t.Context(), v).ID)
	report := s.checkWhole(status)
	if status.Run.Ending != load.Completed || status.Progress.Success != 300 || s.requests() != 300 || report.Overall.Success != 300 {
		t.Errorf("%+v %+v", status.Run, status.Progress)
	}
	page, next, err := s.desk.Executions(t.Context(), status.Run.ID, load.ExecutionFilter{After: 10, Limit: 5, Chart: 101})
	if err != nil || len(page) != 5 || page[0].Number != 11 || page[4].Number != 19 || next < 19 || page[0].Sample != nil {
		t.Errorf("a page of %d, next %d: %v", len(page), next, err)
	}
	series, err := s.desk.Series(t.Context(), status.Run.ID)
	completed := 0
	for _, p := range series.Points {
		completed += p.Completed
	}
	if err != nil || completed != 300 {
		t.Errorf("the series has %d: %v", completed, err)
	}
}

func TestLR_7_6_OnARealBusATripClosesTheIntake(t *testing.T) {
	s := newSite(t)
	s.answer = func(nth int) load.Answer {
		if nth > 50 {
			return load.Answer{Outcome: load.Error, Kind: load.ServerError, Status: 500, Upstream: time.Millisecond}
		}
		return load.Answer{Outcome: load.Success, Status: 200, Cache: load.Hit, Upstream: time.Millisecond}
	}
	s.work()
	s.control("c1")
	status := s.ended(t.Context(), s.start(t.Context(), s.ready(t.Context(), wide("dev", nil))).ID)
	report := s.checkWhole(status)
	if status.Run.Ending != load.Tripped || status.Run.Trip == nil || report.Trip == nil || report.Verdict != load.NotPassed {
		t.Errorf("%+v %+v", status.Run, status.Progress)
	}
}

func TestLR_6_6_OnARealBusAnotherControllerGoesOn(t *testing.T) {
	s := newSite(t)
	s.work()
	first := s.control("c1")
	r := s.start(t.Context(), s.ready(t.Context(), wide("dev", func(p *load.Profile) { p.Arrival = &load.Arrival{PerSecond: 60, Patience: time.Minute} })))
	testkit.Until(t, "a third is done", func() bool { return s.requests() > 100 })
	if err := first.Stop(t); err != nil {
		t.Fatal(err)
	}
	s.control("c2")
	status := s.ended(t.Context(), r.ID)
	s.checkWhole(status)
	if status.Run.Ending != load.Completed || status.Progress.Success != 300 || s.requests() != 300 {
		t.Errorf("%+v %+v", status.Run, status.Progress)
	}
}

func TestLR_1_5_OnARealBusAStopAdmitsNothingMore(t *testing.T) {
	s := newSite(t)
	s.work()
	s.control("c1")
	r := s.start(t.Context(), s.ready(t.Context(), wide("dev", func(p *load.Profile) { p.Arrival = &load.Arrival{PerSecond: 50, Patience: time.Minute} })))
	testkit.Until(t, "it runs", func() bool { return s.requests() > 20 })
	if _, err := s.desk.Stop(t.Context(), runner, r.ID); err != nil {
		t.Fatal(err)
	}
	admissions := 0
	tracking, enough := context.WithCancel(t.Context())
	defer enough()
	err := s.bus.TrackRun(tracking, r.ID, load.RunTracker{
		Admission: func(*load.Admission, uint64) { admissions++ }, Execution: func(*load.Execution, uint64, time.Time) {},
		Bad: func(_ uint64, err error) { t.Error(err) }, CaughtUp: enough,
	})
	if err != nil {
		t.Fatal(err)
	}
	status := s.ended(t.Context(), r.ID)
	s.checkWhole(status)
	if status.Run.Ending != load.Stopped || status.Progress.NotDispatched == 0 || status.Progress.RequestsSent != admissions {
		t.Errorf("%d were admitted when the stop had returned: %+v", admissions, status.Progress)
	}
}

func TestLR_10_5_OnARealBusOneApprovalStartsOneRun(t *testing.T) {
	s := newSite(t)
	s.work()
	v := s.ready(t.Context(), profile("prod", nil))
	s.approve(v, 0)
	var all sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		req := s.request(v)
		if i%2 == 0 {
			req.Key = fmt.Sprint("key ", i)
		}
		all.Go(func() { _, errs[i] = s.desk.Start(t.Context(), operator, req) })
	}
	all.Wait()
	started := 0
	for _, err := range errs {
		var gate *load.GateError
		switch {
		case err == nil:
			started++
		case !errors.As(err, &gate) || gate.Kind != load.GateApprovalUsed:
			t.Errorf("a start gave %v", err)
		}
	}
	runs, err := s.desk.Runs(t.Context())
	if err != nil || started != 1 || len(runs) != 1 || s.requests() != 0 {
		t.Errorf("%d starts, %d runs (%v), %d requests", started, len(runs), err, s.requests())
	}
}
