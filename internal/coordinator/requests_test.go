package coordinator_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// sent is how many requests a query is said to have taken, by its stored results and by its progress record.
func (r *rig) sent(c *coordinator.Coordinator, q *messages.Query) (told, recorded *messages.Progress) {
	r.t.Helper()
	survey, err := c.Survey(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	status, err := c.Status(r.t.Context(), q.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return &survey.Progress, status.Progress
}

func TestRequestsForWhatWasLostAreCountedBesideThoseOfTheResultsThatCameForIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	script := testkit.NewScript(always)
	r.work(script)
	q := r.finished(c, 4)
	for again := 1; again <= 2; again++ {
		for _, p := range []string{"0", "2", "3"} {
			r.spoil(q.ID, p, "flipped")
		}
		r.spoil(q.ID, "1", "gone")
		if v, err := c.Verify(t.Context(), q.ID, true); err != nil || v.Whole() {
			t.Fatalf("%+v, %v", v, err)
		}
		r.resume(c, q.ID)
		q = r.settles(q.ID, 1+again, messages.Complete)
		want := int64(len(script.Calls()))
		told, recorded := r.sent(c, q)
		if want != int64(8+4*again) /* the first of two pages is stored */ || told.Requests != want || recorded.Requests != want || told.AtLeast || recorded.AtLeast {
			t.Errorf("%d requests were sent; told %+v, recorded %+v", want, told, recorded)
		}
	}
}

func TestAProcessThatWasKilledWhileItStoppedIsCountedAsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, sites(3))
	if err := c.Interrupt(t.Context(), q.ID, "this process was asked to stop"); err != nil {
		t.Fatal(err)
	}
	clean := r.submit(c, sites(3))
	if err := c.Interrupt(t.Context(), clean.ID, "this process was asked to stop"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Recount(t.Context(), r.query(clean.ID)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{q.ID, clean.ID} { // what was in flight was answered after that
		h := testkit.Header(id, 1, 0)
		h.Requests = 3
		if err := r.bus.NewResult(id, "a").Commit(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := c.Park(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, p := r.sent(c, r.query(q.ID)); p.Requests != 3 || !p.AtLeast || p.Completed != 1 {
			t.Errorf("of who did not come to count: %+v", p)
		}
		if told, _ := r.sent(c, r.query(clean.ID)); told.AtLeast {
			t.Errorf("of who did: %+v", told)
		}
	}
}

func TestRequestsOfFailuresStayCountedHoweverOftenTheyAreTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	var mended atomic.Bool
	script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
		if siteOf(call) >= "s02" && !mended.Load() {
			return service.Page{}, refuse(service.ClassBadRequest, 400, 0)
		}
		return two(call)
	})
	r.work(script)
	q := r.submit(c, sites(3))
	var last int64
	for run := 1; run <= 4; run++ {
		state := messages.Failed
		if run == 4 {
			state = messages.Complete
		}
		q = r.settles(q.ID, run, state)
		want := int64(len(script.Calls()))
		told, recorded := r.sent(c, q)
		if told.Requests != want || recorded.Requests != want || want <= last {
			t.Errorf("run %d: %d requests were sent; told %d, recorded %d", run, want, told.Requests, recorded.Requests)
		}
		last = want
		mended.Store(run == 3)
		if run < 4 {
			r.resume(c, q.ID)
		}
	}
}
