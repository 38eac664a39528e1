package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

// heldQuotas is a store of accounts whose first exchange takes until it is let go.
type heldQuotas struct {
	worker.Quotas
	first     sync.Once
	held, let chan struct{}
}

func (h *heldQuotas) UpdateQuota(ctx context.Context, pool, owner string, edit func(*messages.QuotaLedger) *messages.QuotaLedger) error {
	h.first.Do(func() {
		close(h.held)
		<-h.let
	})
	return h.Quotas.UpdateQuota(ctx, pool, owner, edit)
}

// While a worker waits for a unit of a quota, it comes out that nothing is to be sent.
func TestWhatIsKnownWhenAUnitComesIsKnownBeforeTheRequest(t *testing.T) {
	t.Parallel()
	for name, becomes := range map[string]func(*testing.T, *rig){
		"the gate is closed": func(t *testing.T, r *rig) {
			gate := &messages.Gate{V: 1, Service: "rivers", Until: time.Now().Add(time.Hour), Status: 429, Reason: "enough", Worker: "other", At: time.Now()}
			if err := r.bus.CloseGate(t.Context(), gate); err != nil {
				t.Fatal(err)
			}
		},
		"the query is cancelled": func(_ *testing.T, r *rig) { r.setState(messages.Cancelled) },
		"the query stops":        func(_ *testing.T, r *rig) { r.setState(messages.Stopping) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, 10*time.Second)
			script := testkit.NewScript(rowsOf)
			store := &heldQuotas{Quotas: r.bus, held: make(chan struct{}), let: make(chan struct{})}
			var heard atomic.Int64
			r.work("w1", script, func(s *setup) {
				spending(pool(5, time.Hour))(s)
				s.ports = func(p *worker.Ports) {
					p.Quotas = store
					p.Records = heardRecords{p.Records, &heard}
				}
			})
			r.publish(items(1)...)
			<-store.held
			before := heard.Load()
			becomes(t, r)
			testkit.Until(t, "the worker has heard of it", func() bool { return heard.Load() > before })
			close(store.let)
			r.queueIsEmpty()
			if n := len(script.Calls()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// heardRecords counts the changes of gates and queries that the worker has taken in.
type heardRecords struct {
	worker.Records
	heard *atomic.Int64
}

func (h heardRecords) WatchGates(ctx context.Context, on func(*messages.Gate, error)) error {
	return h.Records.WatchGates(ctx, func(g *messages.Gate, err error) {
		on(g, err)
		h.heard.Add(1)
	})
}

func (h heardRecords) WatchQueries(ctx context.Context, on func(string, *messages.Query, uint64, error), caughtUp func()) error {
	return h.Records.WatchQueries(ctx, func(id string, q *messages.Query, revision uint64, err error) {
		on(id, q, revision, err)
		h.heard.Add(1)
	}, caughtUp)
}

func TestWorkersOfOneNameShareNoUnits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", 60)
	for name, ids := range map[string][2]string{"equal": {"w1", "w1"}, "equal in the beginning": {long + "-a", long + "-b"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 8, 10*time.Second)
			const limit = 12
			script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
				return rowsOf(ctx, c)
			})
			for _, id := range ids {
				r.work(id, script, spending(pool(limit, time.Hour)))
			}
			testkit.Until(t, "both are there", func() bool {
				n, err := r.bus.CountWorkers(t.Context())
				return err == nil && n == 2
			})
			r.publish(items(40)...)
			r.interrupted(1)
			r.queueIsEmpty()
			if n := len(script.Calls()); n > limit {
				t.Errorf("%d requests of %d", n, limit)
			}
		})
	}
}

// What a pool without words of its own has spent is known to its workers when the store has lost it.
func TestALostAccountIsToldAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, 10*time.Second)
	const limit = 9
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, spending(pool(limit, time.Hour)))
	r.publish(items(6)...)
	for i := range 6 {
		r.result(i)
	}
	told := func() bool {
		all, err := r.bus.ListQuotas(t.Context())
		return err == nil && len(all) == 1 && all[0].Total == 6 && !reserves(all[0])
	}
	testkit.Until(t, "all is told", told)
	stream, err := r.js.Stream(t.Context(), "KV_braid_quota")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "all is told again", told)
	r.work("w2", script, spending(pool(limit, time.Hour)))
	r.publish(items(40)[6:]...)
	r.interrupted(1)
	r.queueIsEmpty()
	if n := len(script.Calls()); n > limit {
		t.Errorf("%d requests of %d", n, limit)
	}
}

func reserves(l *messages.QuotaLedger) bool {
	return slices.ContainsFunc(l.Reserved, func(r messages.QuotaReservation) bool { return r.Free+r.Flying > 0 })
}

// deafQuotas is a store of accounts that does what it is told, and whose answers are lost while it is deaf.
type deafQuotas struct {
	worker.Quotas
	deaf atomic.Bool
}

func (d *deafQuotas) UpdateQuota(ctx context.Context, pool, owner string, edit func(*messages.QuotaLedger) *messages.QuotaLedger) error {
	err := d.Quotas.UpdateQuota(ctx, pool, owner, edit)
	if err == nil && d.deaf.Load() {
		return messages.ErrUnreachable
	}
	return err
}

func TestUnitsWhoseGrantWasNeverHeardComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, 10*time.Second)
	store := &deafQuotas{Quotas: r.bus}
	script := testkit.NewScript(rowsOf)
	const window = 8 * time.Second // a reservation is over after a second
	cfg := pool(1000, window*1000)
	cfg.Window = window
	r.work("w1", script, func(s *setup) {
		spending(cfg)(s)
		s.ports = func(p *worker.Ports) { p.Quotas = store }
	})
	standing := func() messages.QuotaStanding {
		all, err := r.bus.ListQuotas(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return quota.Standing(all[0], time.Now())
	}
	r.publish(items(1)...)
	r.result(0)
	store.deaf.Store(true)
	r.publish(items(8)[1:]...)
	for i := 1; i < 8; i++ {
		r.result(i)
	}
	testkit.Until(t, "reservations are over", func() bool {
		all, err := r.bus.ListQuotas(t.Context())
		return err == nil && len(all) == 1 && !slices.ContainsFunc(all[0].Reserved, func(r messages.QuotaReservation) bool { return r.Until > time.Now().UnixNano() && r.Free > 0 })
	})
	store.deaf.Store(false)
	testkit.Until(t, "only what was sent is spent", func() bool { return *standing().Left == 1000-8 })
}

// Whatever is in flight, what is held back of a limit that the service tells is not spent: its own count says so.
func TestWhatIsHeldBackOfATellingServiceIsNeverSpent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, hold      int64
		workers, slots   int
		foreign, firstly bool // firstly: the first answers are failures that say nothing
	}{
		{100, 60, 1, 16, true, false},
		{40, 30, 3, 2, true, false},
		{20, 15, 2, 4, true, true},
		{40, 20, 3, 16, false, true},
		{30, 25, 2, 8, false, false},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.slots, 10*time.Second)
			var sent atomic.Int64
			script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
				n := sent.Add(1)
				select {
				case <-time.After(time.Duration(call.Pages+int(n)%7) * 5 * time.Millisecond):
				case <-ctx.Done():
				}
				if c.firstly && n <= 2 {
					return service.Page{}, refuse(service.ClassTransient, 503, "not now")
				}
				page := testkit.Rows(call.Task, 0, 1, "")
				page.Metered = service.Metered{Requests: 1, Readings: []service.QuotaReading{{Pool: "gateway", Limit: c.limit, Remaining: c.limit - n}}}
				return page, nil
			})
			cfg := pool(1000, time.Hour)
			cfg.Observes, cfg.Foreign, cfg.HoldBack = true, c.foreign, c.hold
			for i := range c.workers {
				r.work(fmt.Sprint("w", i), script, spending(cfg))
			}
			r.publish(items(80)...)
			r.interrupted(80 - int(c.limit-c.hold))
			r.queueIsEmpty()
			if got := sent.Load(); got != c.limit-c.hold {
				t.Errorf("%d were sent of %d with %d held back", got, c.limit, c.hold)
			}
		})
	}
}
