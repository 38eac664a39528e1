package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestWithoutItsStoreAWorkerSpendsNoMoreThanItsShareOfAPool(t *testing.T) {
	t.Parallel()
	const limit = 20
	for workers, share := range map[int]int{2: 10, 3: 6} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			t.Parallel()
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
				return err == nil && len(all) == 1 && !reserves(all[0])
			})
			store.gone.Store(true)
			r.publish(items(40)[1:]...)
			r.interrupted(40 - share)
			r.queueIsEmpty()
			if n := len(script.Calls()); n != share {
				t.Errorf("of %d workers one has sent %d requests of %d while the store was away, want %d", workers, n, limit, share)
			}
		})
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
	asked, answer := make(chan struct{}), make(chan struct{})
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		close(asked)
		<-answer
		return service.Page{}, &service.ResponseError{Class: service.ClassQuota, Status: 429, RetryAfter: time.Hour, Message: "over"}
	}), func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Records = records }
	})
	r.publish(items(1)...)
	<-asked
	// Another process waits for the one slot meanwhile.
	other := leasetest.Start(t, r.bus.Leases(), "rivers", lease.Config{Slots: 1, Holder: "w2", TTL: 5 * time.Second})
	testkit.Until(t, "it knows that the slot is taken", func() bool { return other.State().InUse == 1 })
	had := make(chan *lease.Slot, 1)
	go func() { had <- leasetest.MustAcquire(t, other) }()
	close(answer)
	<-records.begun
	select {
	case slot := <-had:
		t.Error("another process had the slot before the gate was closed")
		had <- slot
	case <-time.After(time.Second): // a free slot is taken in milliseconds
	}
	close(records.letGo)
	leasetest.MustRelease(t, <-had)
	r.interrupted(1)
}
