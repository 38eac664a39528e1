package coordinator_test

import (
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// keepPages stores pages of a walk that nobody has ended, each of which took so many requests.
func (r *rig) keepPages(query, walk string, p messages.Position, requests ...int) {
	r.t.Helper()
	w := r.bus.NewResult(query, walk)
	for _, n := range requests {
		page := testkit.Rows("a", 0, 2, "")
		_, _, err := w.Store(r.t.Context(), &messages.Page{V: 1, Run: 1, Position: p, Rows: 2, Requests: n, Worker: "dead"}, "next", page.Rows)
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestRequestsOfAKilledProcessAreCountedAsFarAsAnythingTells(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := testkit.Query("q", 4)
	q.Spec = testkit.Digest("spec")
	if err := r.bus.CreateQuery(t.Context(), q, []byte("spec")); err != nil {
		t.Fatal(err)
	}
	r.keepPages("q", "unfinished", "0", 3, 1)
	r.keepPages("q", "finished", "1", 1)
	h := testkit.Header("q", 1, 1)
	h.Requests = 5 // that of the page included
	if err := r.bus.NewResult("q", "second").Commit(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	err := r.bus.PublishInterruption(t.Context(), &messages.Interruption{
		V: 1, Query: "q", Run: 1, Position: "2", Service: "rivers", Kind: messages.HandedBack, Requests: 7, Worker: "w",
	})
	if err != nil {
		t.Fatal(err)
	}
	survey := func() messages.Progress {
		s, err := c.Survey(t.Context(), r.query("q"))
		if err != nil {
			t.Fatal(err)
		}
		return s.Progress
	}
	const known = 3 + 1 + 5 + 7
	if p := survey(); p.Requests != known || p.AtLeast {
		t.Errorf("while it runs: %d requests, at least: %v; want %d", p.Requests, p.AtLeast, known)
	}
	for range 2 { // the second process that finds it was not killed itself, and the word stands
		if err := c.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := survey(); p.Requests != known || !p.AtLeast {
			t.Errorf("after it was killed: %d requests, at least: %v; want at least %d", p.Requests, p.AtLeast, known)
		}
	}
	cached := survey()
	cached.Requests = 40
	if err := r.bus.SaveProgress(t.Context(), &cached); err != nil {
		t.Fatal(err)
	}
	if p := survey(); p.Requests != 40 {
		t.Errorf("%d requests, although 40 were counted before", p.Requests)
	}
}
