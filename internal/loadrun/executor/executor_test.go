package executor_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
)

// held waits for a moment, or until the request is cut.
func held(d time.Duration) func(context.Context, int) load.Outcome {
	return func(ctx context.Context, _ int) load.Outcome {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return load.Success
		case <-ctx.Done():
			return ""
		}
	}
}

func TestLR_1_3_ARunNeverHasMoreInFlightThanItsPlacesOverAllWorkers(t *testing.T) {
	up := &upstream{answer: held(20 * time.Millisecond)}
	r := newRig(t, up)
	r.service(20)
	run := r.start("run1", 40, nil)
	for _, id := range []string{"w1", "w2", "w3"} {
		r.apart().work(id, nil)
	}
	k := r.recorded("run1", run.Total)
	if _, most, _ := up.counted(); most > 5 {
		t.Errorf("%d were in flight at once, of 5 places", most)
	}
	if len(k.executions) != run.Total || k.outcomes()["success/"] != run.Total {
		t.Errorf("%d records of %d: %v", len(k.executions), run.Total, k.outcomes())
	}
	r.agrees(k)
	testkit.Until(t, "the queue is empty", func() bool { return r.queued() == 0 })
}

func TestLR_1_2_ExecutionsAreTakenInTheirOrder(t *testing.T) {
	up := &upstream{}
	r := newRig(t, up)
	r.service(20)
	run := r.start("run1", 20, func(run *load.Run) { run.Slots = 1 })
	r.work("w1", nil)
	r.recorded("run1", run.Total)
	up.mu.Lock()
	defer up.mu.Unlock()
	if !slices.IsSorted(up.order) || len(up.order) != run.Total {
		t.Errorf("requests came as %v", up.order)
	}
}

func TestLR_1_4_AllRunsOfAnEnvironmentShareItsLimit(t *testing.T) {
	up := &upstream{answer: held(20 * time.Millisecond)}
	r := newRig(t, up)
	r.service(20)
	limited := func(run *load.Run) { run.Capacity.EnvLoadLimit, run.Slots = 4, 3 }
	for _, id := range []string{"run1", "run2", "run3"} {
		r.start(id, 15, limited)
	}
	for _, id := range []string{"w1", "w2"} {
		r.apart().work(id, nil)
	}
	all := 0
	for _, id := range []string{"run1", "run2", "run3"} {
		all += len(r.recorded(id, 45).admissions)
	}
	if requests, most, _ := up.counted(); most > 4 || most < 3 || requests != all {
		t.Errorf("%d at once, of 4; %d requests, %d admissions", most, requests, all)
	}
}

func TestLR_1_7_WhoWaitsForAPlaceWaitsInTheQueue(t *testing.T) {
	up := &upstream{answer: held(time.Hour)}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 10, func(run *load.Run) { run.Slots = 2 })
	r.work("w1", func(s *setup) { s.Grace = time.Millisecond })
	testkit.Until(t, "two are in flight", func() bool { _, _, now := up.counted(); return now == 2 })
	if n := r.queued(); n != 30 {
		t.Errorf("%d are queued or in hand", n)
	}
	testkit.Until(t, "the rest is still in the queue", func() bool { return r.waiting("run1") == 28 })
}

func TestLR_3_1_ThreeWaitsThatDoNotOverlapMakeUpTheWhole(t *testing.T) {
	up := &upstream{answer: held(30 * time.Millisecond)}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 4, func(run *load.Run) { run.Slots = 1 })
	r.work("w1", nil)
	k := r.recorded("run1", 12)
	for n, e := range k.first {
		if e.Waits.Upstream < 30*time.Millisecond || e.Waits.Queue < 0 || e.Waits.Resource < 0 {
			t.Errorf("%d: %+v", n, e.Waits)
		}
		if e.Clock.Source != "stream" || e.Clock.Within <= 0 {
			t.Errorf("%d: clock %+v", n, e.Clock)
		}
		// By one clock from end to end, as closely as it is known, and but for what rounding the stamps costs.
		whole := e.Finished.Sub(e.Enqueued)
		if off := (whole - e.Waits.EndToEnd()).Abs(); off > e.Clock.Within+5*time.Millisecond {
			t.Errorf("%d: enqueued to finished is %v, and the waits make up %v", n, whole, e.Waits.EndToEnd())
		}
		if e.Admitted.Before(e.Taken) || e.Finished.Before(e.Admitted) {
			t.Errorf("%d: taken %v, admitted %v, finished %v", n, e.Taken, e.Admitted, e.Finished)
		}
	}
	if k.first[11].Waits.Queue < 10*30*time.Millisecond {
		t.Errorf("the last one waited %v in the queue", k.first[11].Waits.Queue)
	}
}

func TestLR_3_2_QueueWaitsDoNotFollowTheWorkersOwnClock(t *testing.T) {
	up := &upstream{}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 2, nil)
	r.work("w1", func(s *setup) {
		s.Local = func() time.Time { return time.Now().Round(0).Add(time.Hour) } // whose wall clock is an hour fast
		s.Clock = fast{r.bus.StreamClock()}
	})
	for n, e := range r.recorded("run1", 6).first {
		if e.Waits.Queue > time.Minute || e.Clock.Offset > -59*time.Minute {
			t.Errorf("%d: %v in the queue by a clock that is %v off", n, e.Waits.Queue, e.Clock.Offset)
		}
	}
}

// fast is the clock of a worker whose own is an hour fast.
type fast struct{ *bus.StreamClock }

func (f fast) At(local time.Time) (time.Time, load.Clock) {
	at, clock := f.StreamClock.At(local.Add(-time.Hour))
	clock.Offset = at.Sub(local)
	return at, clock
}

func TestLR_2_10_NoPlaceAmongAllRequestsInTimeIsOurOwnLimit(t *testing.T) {
	up := &upstream{}
	r := newRig(t, up)
	r.service(2)
	r.where.PoolTimeout = 300 * time.Millisecond
	// Ordinary requests hold all of the pool.
	slots, err := lease.New(r.bus.Leases(), lease.Name{Service: environment}, lease.Config{Slots: 2, Holder: "other"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, slots.Run)
	for range 2 {
		slot, err := slots.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = slot.Release(context.Background()) }) // it expires
	}
	r.start("run1", 2, nil)
	r.work("w1", nil)
	k := r.recorded("run1", 6)
	if k.outcomes()["cancelled/resource_timeout"] != 6 || len(k.admissions) != 0 {
		t.Errorf("%v, %d admissions", k.outcomes(), len(k.admissions))
	}
	for _, e := range k.first {
		if e.Outcome.Completed() || e.Requests != 0 || e.Waits.Resource < 300*time.Millisecond || e.Waits.Upstream != 0 {
			t.Errorf("%+v", e)
		}
	}
	r.agrees(k)
}

func TestAnExecutionThatCannotBeginInTimeIsNotStarted(t *testing.T) {
	up := &upstream{}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 1, func(run *load.Run) {
		run.Profile.Arrival = &load.Arrival{PerSecond: 1, Patience: time.Second}
	})
	if err := r.bus.PurgeRun(t.Context(), "run1"); err != nil {
		t.Fatal(err)
	}
	now := r.bus.Now()
	err := r.bus.PublishLoadItems(t.Context(), []*load.Item{
		{V: 1, Run: "run1", Number: 0, Intended: now.Add(-time.Minute)}, {V: 1, Run: "run1", Number: 1, Intended: now.Add(500 * time.Millisecond)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.work("w1", nil)
	k := r.recorded("run1", 2)
	late, early := k.first[0], k.first[1]
	if late.Outcome != load.NotStarted || late.Requests != 0 || late.Late == nil || *late.Late < time.Minute {
		t.Errorf("late: %+v", late)
	}
	if early.Outcome != load.Success || early.Admitted.Before(now.Add(400*time.Millisecond)) || early.Late == nil || *early.Late < 0 {
		t.Errorf("early: %+v", early)
	}
	r.agrees(k)
}

func TestADashboardIsLookedUpByAWorker(t *testing.T) {
	r := newRig(t, &upstream{})
	r.work("w1", nil)
	r.work("w2", nil)
	for name, ok := range map[string]bool{"sales": true, "nowhere": false} {
		s, err := r.bus.LookUp(t.Context(), &load.LookUp{
			V: 1, ID: "look-" + name, Environment: environment, Definition: testkit.Digest("definition"), Dashboard: name, Expires: r.bus.Now().Add(testkit.Patience),
		})
		if ok && (err != nil || s.Title != name) || !ok && (err == nil || err.Error() != "there is no such dashboard") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}
