package worker_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

const longLease = 10 * time.Minute // nothing that expires helps a test along

// setLease changes the life of the service's leases and, as it goes with that, the queue's patience.
func (r *rig) setLease(ttl time.Duration) {
	r.t.Helper()
	var now messages.Service
	err := r.bus.UpdateService(r.t.Context(), "rivers", func(have *messages.Service) *messages.Service {
		now = *have
		now.LeaseTTL = ttl
		return &now
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.bus.EnsureQueue(r.t.Context(), "rivers", 100, now.AckWait()); err != nil {
		r.t.Fatal(err)
	}
}

// ttls gives how long the store keeps each slot that is held, sorted.
func (r *rig) ttls(slots int) []string {
	r.t.Helper()
	stream, err := r.js.Stream(r.t.Context(), "KV_braid_leases")
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for i := range slots {
		msg, err := stream.GetLastMsgForSubject(r.t.Context(), "$KV.braid_leases.rivers."+strconv.Itoa(i))
		if err == nil && len(msg.Data) > 0 {
			all = append(all, msg.Header.Get("Nats-TTL"))
		}
	}
	slices.Sort(all)
	return all
}

func TestALeaseShortenedUnderWorkAsksForNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm) // the queue's patience is 45 s at first, and 1.5 s then
	sent := make(chan string, 10)
	script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		sent <- c.Task
		timer := time.NewTimer(4 * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
			return testkit.Rows(c.Task, 0, 1, ""), nil
		case <-ctx.Done():
			return service.Page{}, ctx.Err()
		}
	})
	r.work("w1", script, nil)
	r.work("w2", script, nil)
	r.publish(testkit.Item("q", 0))
	testkit.Receive(t, "request", sent)
	r.setLease(time.Second)
	r.publish(testkit.Item("q", 1)) // taken under the new lease
	testkit.Receive(t, "request", sent)
	testkit.Until(t, "one lease is of the old kind and one of the new", func() bool {
		return slices.Equal(r.ttls(2), []string{"1s", "30s"})
	})
	r.publish(testkit.Item("q", 2))
	for i := range 3 {
		if h, _ := r.result(i); h.Requests != 1 {
			t.Errorf("position %d took %d requests", i, h.Requests)
		}
	}
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 3 {
		t.Errorf("%d requests for 3 chunks", n)
	}
	if most := script.Most(); most != 2 {
		t.Errorf("%d requests at once under old and new leases, want 2", most)
	}
}

// outage is a lease store that refuses to set a slot free, and to tell of one, while it is down.
type outage struct {
	lease.Store
	down    atomic.Bool
	refused chan struct{}
}

var errDown = errors.New("the store is down")

func (o *outage) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if o.down.Load() {
		if len(value) == 0 {
			o.refused <- struct{}{}
		}
		return 0, errDown
	}
	return o.Store.Put(ctx, key, value, revision, ttl)
}

func (o *outage) Get(ctx context.Context, key string) (lease.Entry, error) {
	if o.down.Load() {
		return lease.Entry{}, errDown
	}
	return o.Store.Get(ctx, key)
}

// answeredInAnOutage starts a worker whose only request is answered while the lease store is down.
func (r *rig) answeredInAnOutage() (*testkit.Running, *outage) {
	r.t.Helper()
	o := &outage{refused: make(chan struct{}, 1000)}
	w := r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		o.down.Store(true)
		return testkit.Rows(c.Task, 0, 1, ""), nil
	}), func(s *setup) {
		s.Grace = time.Hour
		s.ports = func(p *worker.Ports) { o.Store, p.Leases = p.Leases, o }
	})
	r.publish(items(1)...)
	r.result(0)
	testkit.Receive(r.t, "refusal", o.refused)
	return w, o
}

func TestASlotWhoseRequestWasAnsweredInAnOutageIsFreeSoonAfterIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, longLease)
	_, o := r.answeredInAnOutage()
	for range 4 { // some seconds of outage
		testkit.Receive(t, "refusal", o.refused)
	}
	if r.heldSlots(1) != 1 {
		t.Fatal("the slot is free in the outage, so that nothing is shown")
	}
	o.down.Store(false)
	testkit.Until(t, "the slot is free", func() bool { return r.heldSlots(1) == 0 })
	r.queueIsEmpty()
}

func TestAStopInAnOutageDoesNotWaitForSlotsToBeGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, longLease)
	w, _ := r.answeredInAnOutage()
	began := time.Now()
	w.Cancel()
	testkit.Receive(t, "end", ended(w))
	if took := time.Since(began); took < time.Second {
		t.Errorf("it ended after %v, without trying to give its slot back", took)
	}
	if r.heldSlots(1) != 1 {
		t.Error("the slot is free, so that nothing was shown")
	}
}
