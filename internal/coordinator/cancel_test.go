package coordinator_test

import (
	"errors"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func TestACancelTakesEverythingBackAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	spec := sites(40)
	h := hold(spec.Values["site"]...)
	heard := r.work(h.adapter)
	q := r.submit(c, spec)
	for range 4 {
		testkit.Receive(t, "held request", h.came)
	}
	cancelled, err := c.Cancel(t.Context(), q.ID)
	if err != nil || cancelled.State != messages.Cancelled {
		t.Fatalf("%+v, %v", cancelled, err)
	}
	for testkit.Receive(t, "word of the cancel", heard) != messages.Cancelled {
	}
	// What the leader queues before it hears of the cancel is taken back by it, or dropped by the workers.
	testkit.Until(t, "nothing is queued", func() bool { return testkit.Stored(t, r.js, "ITEMS") == 0 })
	close(h.letGo)
	if err := r.worker.Stop(t); err != nil {
		t.Fatal(err)
	}
	if n := len(h.adapter.Calls()); n != 4 {
		t.Errorf("%d requests were sent, want the 4 that were in flight at the cancel", n)
	}
	if err := c.Remove(t.Context(), q.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context(), q.ID); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("a removed query's status: %v", err)
	}
}

func TestACancelledQueryCanBeResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	q := r.submit(c, sites(4))
	if _, err := c.Cancel(t.Context(), q.ID); err != nil {
		t.Fatal(err)
	}
	r.work(testkit.NewScript(always))
	r.resume(c, q.ID)
	r.settles(q.ID, 2, messages.Complete)
}

func TestAnActiveQueryIsNotRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	q := r.submit(c, sites(4))
	if err := c.Remove(t.Context(), q.ID); !errors.Is(err, query.ErrState) {
		t.Errorf("got %v, want ErrState", err)
	}
}
