package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestWithoutItsStoreAWorkerSpendsNoMoreThanItsShareOfAPool(t *testing.T) {
	t.Parallel()
	const limit = 20
	for workers, share := range map[int]int{2: 10, 3: 6} {
		r := newRig(t, 4, time.Second)
		for i := range workers - 1 { // those that the pool is shared with
			other := &messages.Worker{V: messages.Version, ID: "other" + string(rune('a'+i)), Concurrency: 1, Started: time.Now(), Seen: time.Now()}
			if err := r.bus.SaveWorker(t.Context(), other, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Until(t, "they are counted", func() bool {
			n, err := r.bus.CountWorkers(t.Context())
			return err == nil && n == workers-1
		})
		store := &quotasAway{Quotas: r.bus}
		script := testkit.NewScript(rowsOf)
		r.work("w1", script, func(s *setup) {
			spending(pool(limit, time.Hour))(s)
			s.ports = func(p *worker.Ports) { p.Quotas = store }
		})
		testkit.Until(t, "all are counted", func() bool {
			n, err := r.bus.CountWorkers(t.Context())
			return err == nil && n == workers
		})
		r.publish(items(1)...)
		r.result(0)
		testkit.Until(t, "the reservation is over", func() bool {
			all, err := r.bus.ListQuotas(t.Context())
			return err == nil && len(all) == 1 && len(all[0].Reserved) == 0
		})
		store.gone.Store(true)
		r.publish(items(40)[1:]...)
		r.interrupted(40 - share)
		r.queueIsEmpty()
		if n := len(script.Calls()); n != share {
			t.Errorf("of %d workers one has sent %d requests of %d while the store was away, want %d", workers, n, limit, share)
		}
	}
}

// closing is the shared records, of which closing a gate takes until it is let go.
type closing struct {
	worker.Records
	begun, letGo chan struct{}
	once         atomic.Bool
}

func (c *closing) CloseGate(ctx context.Context, g *messages.Gate) error {
	if c.once.CompareAndSwap(false, true) {
		close(c.begun)
		select {
		case <-c.letGo:
		case <-ctx.Done():
		}
	}
	return c.Records.CloseGate(ctx, g)
}

func TestASlotIsKeptUntilTheGateIsClosedForAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, 5*time.Second)
	records := &closing{Records: r.bus, begun: make(chan struct{}), letGo: make(chan struct{})}
	refused := func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, &service.ResponseError{Class: service.ClassQuota, Status: 429, RetryAfter: time.Hour, Message: "over"}
	}
	r.work("w1", testkit.NewScript(refused), func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Records = records }
	})
	r.publish(items(1)...)
	<-records.begun
	// Another worker waits for the one slot meanwhile.
	came := make(chan struct{}, 10)
	r.work("w2", testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		came <- struct{}{}
		return rowsOf(ctx, c)
	}), nil)
	r.publish(items(2)[1:]...)
	select {
	case <-came:
		t.Error("another worker had the slot before the gate was closed")
	case <-time.After(time.Second): // as long as it takes to take a slot that is free, and more
	}
	close(records.letGo)
	for _, m := range r.interrupted(2) {
		if m.Kind != messages.QuotaExhausted {
			t.Errorf("%+v", m)
		}
	}
	if len(came) > 0 {
		t.Error("a request was sent behind a closed gate")
	}
}
