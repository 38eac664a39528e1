package executor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
)

// doomed is a worker whose process dies at one point of the first execution that comes there: its connection goes, and nothing that it
// does afterwards has an effect.
type doomed struct {
	point string
	bus   *bus.Bus
	once  sync.Once
	dead  chan struct{}
}

// at dies when the point is the one, and never returns then but with ctx.
func (d *doomed) at(ctx context.Context, point string) {
	if point == d.point {
		d.once.Do(func() {
			d.bus.Close()
			close(d.dead)
		})
	}
	if d.isDead() {
		<-ctx.Done()
	}
}

func (d *doomed) isDead() bool {
	select {
	case <-d.dead:
		return true
	default:
		return false
	}
}

type doomedIntake struct{ *doomed }

func (d doomedIntake) Admit(ctx context.Context, a *load.Admission, place int) error {
	d.at(ctx, "taken")
	err := d.bus.Admit(ctx, a, place)
	d.at(ctx, "admitted")
	return err
}

type doomedExecutions struct{ *doomed }

func (d doomedExecutions) Execution(ctx context.Context, run string, number int) (*load.Execution, error) {
	return d.bus.Execution(ctx, run, number)
}

func (d doomedExecutions) PublishExecution(ctx context.Context, e *load.Execution) error {
	d.at(ctx, "answered")
	err := d.bus.PublishExecution(ctx, e)
	d.at(ctx, "recorded")
	return err
}

type doomedClient struct {
	*doomed
	*upstream
}

func (d doomedClient) Execute(ctx context.Context, r load.Request, places load.Places) (load.Answer, error) {
	admit := places.Admit
	places.Admit = func(ctx context.Context, repeat bool) error {
		err := admit(ctx, repeat)
		if err != nil || d.point != "sent" {
			return err
		}
		d.begin(numberOf(r)) // the service has it, and nobody hears what it answers
		defer d.end()
		d.at(ctx, "sent")
		return context.Cause(ctx)
	}
	return d.upstream.Execute(ctx, r, places)
}

func TestLR_6_7_AWorkerMayDieAtAnyPointAndEachNumberCountsOnce(t *testing.T) {
	for _, point := range []string{"taken", "admitted", "sent", "answered", "recorded"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			up := &upstream{answer: held(5 * time.Millisecond)}
			r := newRig(t, up)
			r.service(20)
			run := r.start("run1", 6, func(run *load.Run) { run.Slots, run.Profile.Deadline = 3, time.Second })
			own := r.apart()
			d := &doomed{point: point, bus: own.bus, dead: make(chan struct{})}
			dying := own.work("w1", func(s *setup) {
				s.Grace = time.Millisecond
				s.Intake, s.Executions, s.client = doomedIntake{d}, doomedExecutions{d}, doomedClient{d, up}
			})
			testkit.Receive(t, "death", closing(d.dead))
			dying.Cancel()
			r.work("w2", nil)
			r.recorded("run1", run.Total)
			testkit.Until(t, "the queue is empty", func() bool { return r.queued() == 0 })
			k := r.records("run1")
			if len(k.first) != run.Total || k.outcomes()["success/"] != run.Total {
				t.Errorf("%d numbers have a record: %v", len(k.first), k.outcomes())
			}
			requests, _, _ := up.counted()
			lost := len(k.admissions) - requests
			switch point {
			case "admitted": // and nothing was sent: three hands may have been there
				if lost < 1 || lost > 3 {
					t.Errorf("%d admissions, %d requests", len(k.admissions), requests)
				}
			default:
				if lost != 0 {
					t.Errorf("%d admissions, %d requests", len(k.admissions), requests)
				}
			}
			again := 0
			for _, e := range k.first {
				if e.Attempt > 1 {
					again++
				}
			}
			if (point == "recorded") == (again > 0) && point != "recorded" || len(k.executions) != run.Total {
				t.Errorf("%d were done by another attempt; %d records", again, len(k.executions))
			}
		})
	}
}

// closing gives a value when c is closed.
func closing(c <-chan struct{}) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		<-c
		out <- struct{}{}
	}()
	return out
}

// standing is the leases of a process that stands still: nothing is renewed, and nobody hears why.
type standing struct {
	lease.Store
	still <-chan struct{}
}

func (s standing) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	select {
	case <-s.still:
		<-ctx.Done()
		return 0, ctx.Err()
	default:
		return s.Store.Put(ctx, key, value, revision, ttl)
	}
}

// slowIntake admits only when the places of the process have been lost.
type slowIntake struct {
	*bus.Bus
	still chan struct{}
	wait  time.Duration
	once  sync.Once
}

func (s *slowIntake) Admit(ctx context.Context, a *load.Admission, place int) error {
	s.once.Do(func() {
		close(s.still)
		<-time.After(s.wait)
	})
	return s.Bus.Admit(context.WithoutCancel(ctx), a, place)
}

func TestLR_1_5_AWorkerThatStoodStillBeyondItsLeaseSendsNothing(t *testing.T) {
	up := &upstream{}
	r := newRig(t, up)
	r.service(20)
	run := r.start("run1", 1, func(run *load.Run) { run.Slots, run.Profile.Deadline = 1, time.Second })
	still := make(chan struct{})
	own := r.apart()
	frozen := &upstream{}
	own.work("w1", func(s *setup) {
		s.Leases, s.client = standing{own.bus.Leases(), still}, frozen
		s.Intake = &slowIntake{Bus: own.bus, still: still, wait: 4 * time.Second}
	})
	testkit.Receive(t, "standstill", closing(still))
	r.work("w2", nil)
	k := r.recorded("run1", run.Total)
	if sent, _, _ := frozen.counted(); sent != 0 {
		t.Errorf("the worker that stood still has sent %d requests", sent)
	}
	if k.outcomes()["success/"] != run.Total {
		t.Errorf("%v", k.outcomes())
	}
}

func TestLR_1_5_NothingIsAdmittedOnceARunIsStopped(t *testing.T) {
	up := &upstream{answer: held(15 * time.Millisecond)}
	r := newRig(t, up)
	r.service(20)
	for _, id := range []string{"w1", "w2", "w3"} {
		r.apart().work(id, nil)
	}
	sent := 0
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		run := r.start(id, 100, nil)
		target := rand.IntN(40)
		testkit.Until(t, "some are sent", func() bool { n, _, _ := up.counted(); return n >= sent+target })
		if err := r.bus.CloseIntake(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		closed := len(r.records(id).admissions)
		r.closeIntake(id)
		testkit.Until(t, "nothing is in flight", func() bool { _, _, now := up.counted(); return now == 0 && r.queued() == 0 })
		n, _, _ := up.counted()
		var k *kept
		testkit.Until(t, "what was admitted has a record", func() bool {
			k = r.records(id)
			return k.outcomes()["success/"] == len(k.admissions)
		})
		if len(k.admissions) != closed || n-sent != closed {
			t.Errorf("%d were admitted when intake was closed; now %d are, and %d requests were counted", closed, len(k.admissions), n-sent)
		}
		if k.outcomes()["success/"]+k.outcomes()["cancelled/intake_closed"] != len(k.first) || len(k.first) >= run.Total {
			t.Errorf("%v of %d", k.outcomes(), run.Total)
		}
		sent = n
		r.change(id, func(run *load.Run) { run.State = load.Ended })
	}
}

func TestLR_1_6_WhatIsInFlightIsCutWhenTheTimeToDrainIsOver(t *testing.T) {
	up := &upstream{answer: held(time.Hour)}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 10, func(run *load.Run) { run.Profile.Drain = time.Second })
	r.work("w1", nil)
	testkit.Until(t, "five are in flight", func() bool { _, _, now := up.counted(); return now == 5 })
	r.closeIntake("run1")
	k := r.recorded("run1", 5)
	if k.outcomes()["cancelled/drain_over"] != 5 || len(k.first) != 5 {
		t.Errorf("%v", k.outcomes())
	}
	for _, e := range k.first {
		if e.Requests != 1 || e.Waits.Upstream < 500*time.Millisecond || e.Admitted.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	r.agrees(k)
	testkit.Until(t, "nothing is in flight", func() bool { _, _, now := up.counted(); return now == 0 })
}

func TestASealedRunTakesNoFurtherRecord(t *testing.T) {
	up := &upstream{answer: held(time.Hour)}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 10, func(run *load.Run) { run.Profile.Drain = time.Millisecond })
	hold := make(chan struct{})
	r.work("w1", func(s *setup) { s.Executions = waitingExecutions{r.bus, hold} })
	testkit.Until(t, "five are in flight", func() bool { _, _, now := up.counted(); return now == 5 })
	r.closeIntake("run1")
	if err := r.bus.SealRun(t.Context(), "run1"); err != nil {
		t.Fatal(err)
	}
	close(hold)
	testkit.Until(t, "nothing is in flight", func() bool { _, _, now := up.counted(); return now == 0 })
	r.change("run1", func(run *load.Run) { run.State = load.Ended })
	if k := r.records("run1"); len(k.executions) != 0 {
		t.Errorf("%d records came after", len(k.executions))
	}
}

// waitingExecutions stores no record before hold is closed.
type waitingExecutions struct {
	*bus.Bus
	hold <-chan struct{}
}

func (w waitingExecutions) PublishExecution(ctx context.Context, e *load.Execution) error {
	<-w.hold
	return w.Bus.PublishExecution(ctx, e)
}

func TestAWorkerThatIsToStopFinishesWhatIsInFlightAndHandsTheRestBack(t *testing.T) {
	up := &upstream{answer: held(800 * time.Millisecond)}
	r := newRig(t, up)
	r.service(20)
	run := r.start("run1", 5, func(run *load.Run) { run.Capacity.EnvLoadLimit = 2 })
	w1 := r.work("w1", nil)
	testkit.Until(t, "two are in flight", func() bool { _, _, now := up.counted(); return now == 2 })
	if err := w1.Stop(t); err != nil {
		t.Fatal(err)
	}
	k := r.records("run1")
	if k.outcomes()["success/"] != 2 || len(k.first) != 2 {
		t.Errorf("after the stop: %v", k.outcomes())
	}
	r.work("w2", nil)
	k = r.recorded("run1", run.Total)
	if k.outcomes()["success/"] != run.Total {
		t.Errorf("in the end: %v", k.outcomes())
	}
	r.agrees(k)
}

func TestLR_11_1_WhileTheStoreIsAwayNothingIsLostAndNothingCountedTwice(t *testing.T) {
	dir := t.TempDir()
	server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Listen: "127.0.0.1:0", Durability: bus.Fast})
	if err != nil {
		t.Fatal(err)
	}
	url := server.ClientURL()
	up := &upstream{answer: held(50 * time.Millisecond)}
	r := &rig{
		t: t, bus: testkit.Connect(t, bus.Config{URL: url}), up: up, charts: 3,
		where: load.Environment{Name: environment, PoolTimeout: 20 * time.Second},
	}
	r.service(20)
	run := r.start("run1", 60, func(run *load.Run) { run.Profile.Deadline = 25 * time.Second })
	for _, id := range []string{"w1", "w2"} {
		other := *r
		other.bus = testkit.Connect(t, bus.Config{URL: url})
		other.work(id, nil)
	}
	testkit.Until(t, "some are sent", func() bool { n, _, _ := up.counted(); return n > 20 })
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	<-time.After(10 * time.Second)
	testkit.ServerOn(t, bus.ServerConfig{Dir: dir, Listen: strings.TrimPrefix(url, "nats://")})
	testkit.Until(t, "the streams can be reached", func() bool { return r.bus.Present(t.Context()) == nil })
	k := r.recorded("run1", run.Total)
	// An item whose worker could not be heard may have gone to another: that is another attempt, which is stored as one and counted once.
	attempts := map[string]bool{}
	for _, e := range k.executions {
		attempts[fmt.Sprint(e.Number, "/", e.Attempt)] = true
	}
	if k.outcomes()["success/"] != run.Total || len(attempts) != len(k.executions) {
		t.Errorf("%v in %d records of %d attempts", k.outcomes(), len(k.executions), len(attempts))
	}
	r.agrees(k)
	if _, most, _ := up.counted(); most > 5 {
		t.Errorf("%d were in flight at once", most)
	}
}

var _ executor.Intake = (*slowIntake)(nil)
