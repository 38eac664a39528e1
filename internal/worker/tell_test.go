package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// deaf is a store that does not take interruptions until it hears again.
type deaf struct {
	worker.Results
	asked chan time.Time // with the deadline that the worker sets
	hears chan struct{}
}

func (d deaf) PublishInterruption(ctx context.Context, m *messages.Interruption) error {
	deadline, _ := ctx.Deadline()
	d.asked <- deadline
	select {
	case <-d.hears:
		return d.Results.PublishInterruption(ctx, m)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// While an interruption cannot be stored, the item is not given to another worker, and the wait for it is bounded.
func TestAnItemIsKeptUntilItsInterruptionIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, time.Second)
	patience := (&messages.Service{LeaseTTL: time.Second}).AckWait()
	store := deaf{asked: make(chan time.Time, 10), hears: make(chan struct{})}
	script := testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, &service.ResponseError{Class: service.ClassQuota, Status: 429, RetryAfter: time.Hour, Message: "spent"}
	})
	r.work("w1", script, func(s *setup) {
		s.ports = func(p *worker.Ports) {
			store.Results = p.Results
			p.Results = store
		}
	})
	r.publish(items(1)...)
	if deadline := testkit.Receive(t, "interruption", store.asked); deadline.IsZero() || time.Until(deadline) > 2*time.Minute {
		t.Errorf("it is given up at %s", deadline)
	}
	queue, err := r.bus.Queue(t.Context(), "rivers")
	if err != nil {
		t.Fatal(err)
	}
	other := 0
	if _, err := queue.Take(t.Context(), 1, patience+time.Second, func(*bus.Delivery) { other++ }, func(err error) { t.Error(err) }); err != nil || other > 0 {
		t.Errorf("another worker got the item: %d, %v", other, err)
	}
	close(store.hears)
	r.interrupted(1)
	r.queueIsEmpty()
}
