package coordinator_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// offering is a bus that tells of each time items are offered to the queue, and how many of them it refused.
type offering struct {
	*bus.Bus
	refused chan int
}

func (o offering) PublishItems(ctx context.Context, items []*messages.Item) ([]messages.Refused, error) {
	refused, err := o.Bus.PublishItems(ctx, items)
	select {
	case o.refused <- len(refused):
	default:
	}
	return refused, err
}

// offers leads with a coordinator whose offers to the queue are told.
func (r *rig) offers(id string) (*coordinator.Coordinator, *testkit.Running, <-chan int) {
	r.t.Helper()
	refused := make(chan int, 1000)
	c, err := coordinator.New(coordinator.Config{ID: id, LeaseTTL: 2 * time.Second, LeaderTTL: time.Second}, coordinator.Ports{
		Queries: r.bus, Catalogue: r.bus, Items: offering{r.bus, refused}, Results: r.bus, Services: r.bus, Definitions: r.definitions, Leader: r.bus.Leader(),
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return c, testkit.Run(r.t, c.Run), refused
}

// takes takes the next item, as a worker would.
func (r *rig) takes() *bus.Delivery {
	r.t.Helper()
	queue, err := r.bus.Queue(r.t.Context(), "rivers")
	if err != nil {
		r.t.Fatal(err)
	}
	var taken *bus.Delivery
	if _, err := queue.Take(r.t.Context(), 1, 10*time.Second, func(d *bus.Delivery) { taken = d }, func(err error) { r.t.Error(err) }); err != nil || taken == nil {
		r.t.Fatalf("no item came: %v", err)
	}
	return taken
}

// spends tells that the item has sent what it was allowed.
func (r *rig) spends(d *bus.Delivery) {
	r.t.Helper()
	err := r.bus.PublishInterruption(r.t.Context(), &messages.Interruption{
		V: messages.Version, Query: d.Item.Query, Run: d.Item.Run, Position: d.Item.Position, Service: d.Item.Service, Kind: messages.AllowanceSpent,
		Reason: "spent", Requests: d.Item.Allowance, Sent: d.Item.Allowance, Worker: "w1", At: time.Now(), Dispatched: d.Item.Dispatched,
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) done(d *bus.Delivery) {
	r.t.Helper()
	if err := d.Done(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func isRefused(t *testing.T, offers <-chan int) {
	t.Helper()
	for testkit.Receive(t, "an offer of an item", offers) == 0 {
	}
}

// A worker tells how an item ended before it has it removed.
func TestAnItemIsPublishedAgainHoweverLateTheOneBeforeIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, _, offers := r.offers("c1")
	spec := sites(1)
	spec.Run.MaxRequests = 600
	r.submit(c, spec)
	for range 2 {
		first := r.takes()
		if first.Item.Allowance != 256 {
			t.Errorf("the only chunk may send %d requests", first.Item.Allowance)
		}
		r.spends(first)
		isRefused(t, offers)
		r.done(first)
	}
	last := r.takes()
	if last.Item.Allowance != 600-2*256 || !last.Item.Recheck {
		t.Errorf("the item after all may send %d requests; it looks first: %v", last.Item.Allowance, last.Item.Recheck)
	}
}

// A coordinator that takes over has heard of items that are over, and does not take them for those of the one before.
func TestWhoTakesOverIsNotMisledByAnItemThatIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, first, _ := r.offers("c1")
	spec := sites(2)
	spec.Run.MaxRequests = 100
	r.submit(c, spec)
	over, queued := r.takes(), r.takes()
	_ = first.Stop(t)
	r.spends(over)
	_, _, offers := r.offers("c2")
	isRefused(t, offers)
	r.done(over)
	again := r.takes()
	if again.Item.Position != over.Item.Position || again.Item.Allowance > 100-over.Item.Allowance {
		t.Errorf("position %s may send %d requests now; %d are spent", again.Item.Position, again.Item.Allowance, over.Item.Allowance)
	}
	r.done(queued)
}

// A worker may find the failure of an earlier run, before it is removed: it does nothing then, and has its item removed.
func TestAnItemThatMetAnOldFailureIsPublishedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, _, offers := r.offers("c1")
	q := r.submit(c, sites(1))
	r.done(r.takes())
	if err := c.Interrupt(t.Context(), q.ID, "the test"); err != nil {
		t.Fatal(err)
	}
	r.resume(c, q.ID)
	second := r.takes()
	h := testkit.Header(q.ID, 0, 0)
	h.Outcome, h.Failure = messages.OutcomeFailed, &messages.Failure{Class: "bad_request", Message: "no"}
	if err := r.bus.NewResult(q.ID, "a1").Commit(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	isRefused(t, offers)
	r.done(second)
	if third := r.takes(); third.Item.Run != 2 || !third.Item.Recheck {
		t.Errorf("an item of run %d", third.Item.Run)
	}
}

// What is damaged and found by its driver is removed, and asked for again, whoever has seen it.
func TestAnItemThatMetADamagedResultIsPublishedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, _, offers := r.offers("c1")
	q := r.submit(c, sites(1))
	first := r.takes()
	r.put("braid.result."+q.ID+".0", nil, []byte("nobody can read this"))
	isRefused(t, offers)
	r.done(first)
	if second := r.takes(); !second.Item.Recheck {
		t.Error("the item does not look first")
	}
}
