package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
)

// Deadlines are long here: neither the places nor the items of a worker that died may wait for them.
func TestLR_1_3_TheCapacityOfADeadWorkerIsFreeWithinALease(t *testing.T) {
	up := &upstream{answer: held(50 * time.Millisecond)}
	r := newRig(t, up)
	r.service(20)
	const slots = 4
	run := r.start("run1", 40, func(run *load.Run) {
		run.Slots, run.Capacity.EnvLoadLimit, run.Profile.Deadline = slots, slots, 10*time.Minute
	})
	own := r.apart()
	d := &doomed{point: "sent", bus: own.bus, dead: make(chan struct{})}
	dying := own.work("w1", func(s *setup) {
		s.Grace = time.Millisecond
		s.Executions, s.client = doomedExecutions{d}, doomedClient{d, up}
	})
	testkit.Receive(t, "death", closing(d.dead))
	dying.Cancel()
	died := time.Now()
	r.work("w2", nil)
	testkit.Until(t, "all places are in use again", func() bool { _, _, now := up.counted(); return now >= slots })
	r.recorded("run1", run.Total)
	if took := time.Since(died); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if _, most, _ := up.counted(); most > slots {
		t.Errorf("%d in flight at once, of %d", most, slots)
	}
}

// The queue's patience, of two seconds here, is less than the request takes: the signs of life alone keep the item, and renewals the places.
func TestWhatAWorkerThatLivesHasInHandIsNobodyElses(t *testing.T) {
	up := &upstream{answer: func(ctx context.Context, _ int) load.Outcome {
		select {
		case <-time.After(7 * time.Second):
			return load.Success
		case <-ctx.Done():
			return ""
		}
	}}
	r := newRig(t, up)
	r.service(20)
	run := r.start("run1", 1, func(run *load.Run) { run.Slots, run.Profile.Deadline = 3, time.Minute })
	r.work("w1", nil)
	r.work("w2", nil)
	k := r.recorded("run1", run.Total)
	if requests, _, _ := up.counted(); requests != run.Total || r.again(k) != 0 {
		t.Errorf("%d requests of %d executions", requests, run.Total)
	}
}
