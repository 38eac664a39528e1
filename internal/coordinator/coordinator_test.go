package coordinator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func TestASubmittedQueryIsRunToItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	script := testkit.NewScript(always)
	r.work(script)
	q := r.submit(c, sites(20)) // more than one window
	if q.State != messages.Running || q.Chunks != 20 || q.Run != 1 {
		t.Errorf("submitted as %+v", q)
	}
	r.settles(q.ID, 1, messages.Complete)
	if n := len(script.Calls()); n != 40 {
		t.Errorf("%d requests for 20 chunks of two pages", n)
	}
	status, err := c.Status(t.Context(), q.ID)
	if err != nil || status.Progress.Completed != 20 || status.Progress.Rows != 80 || status.Progress.Requests != 40 || status.Progress.Waiting != 0 {
		t.Errorf("progress %+v, %v", status.Progress, err)
	}
	table := r.tables(c, q.ID)[output.CSV]
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 81 || !strings.HasPrefix(lines[1], "s00,0") || !strings.HasPrefix(lines[80], "s19,3") {
		t.Errorf("table of %d lines: %s … %s", len(lines), lines[1], lines[len(lines)-1])
	}
}

func TestAQueryThatCannotBeRunLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	wrong := sites(3)
	wrong.Values["colour"] = []string{"blue"}
	unknown := sites(3)
	unknown.Collection = "dialy"
	for _, spec := range []*query.Spec{{}, wrong, unknown} {
		if _, err := c.Submit(t.Context(), spec); !errors.Is(err, query.ErrInvalid) {
			t.Errorf("submit of %+v gave %v, want ErrInvalid", spec, err)
		}
	}
	if all, err := c.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("listed %v, %v", all, err)
	}
}

func TestTheLowestNumberThatAnActiveQueryAsksForIsTheServices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c", r.bus, nil)
	slots := func() int {
		n := 0
		if err := r.bus.UpdateService(t.Context(), "rivers", func(have *messages.Service) *messages.Service {
			n = have.Slots
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.submit(c, sites(1))
	usual := slots()
	gentle := sites(1)
	gentle.Run.InFlight = 1
	q := r.submit(c, gentle)
	r.submit(c, sites(1))
	if n := slots(); n != 1 {
		t.Errorf("%d slots beside a query that asks for 1", n)
	}
	if _, err := c.Cancel(t.Context(), q.ID); err != nil {
		t.Fatal(err)
	}
	r.submit(c, sites(1))
	if n := slots(); n != usual {
		t.Errorf("%d slots after it has ended, want the definition's %d", n, usual)
	}
}

func TestParkLeavesNothingThatGoesOnByItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil) // it does not lead: nothing changes by itself
	running, waiting, ended := r.submit(c, sites(3)), r.submit(c, sites(3)), r.submit(c, sites(3))
	r.edit(waiting.ID, func(q *messages.Query) {
		q.State, q.WaitUpTo = messages.Interrupted, time.Hour
		q.Stop = &messages.Stop{Kind: string(messages.QuotaExhausted), Until: time.Now().Add(time.Minute), At: time.Now()}
	})
	for i := range 3 {
		if err := r.bus.NewResult(ended.ID, "a").Commit(t.Context(), testkit.Header(ended.ID, i, 0)); err != nil {
			t.Fatal(err)
		}
	}
	r.edit(ended.ID, func(q *messages.Query) { q.State = messages.Complete })
	if _, err := r.bus.PublishItems(t.Context(), []*messages.Item{testkit.Item(running.ID, 0)}); err != nil {
		t.Fatal(err)
	}
	// The process ended before it had noted what it had last done.
	if err := r.bus.NewResult(running.ID, "a").Commit(t.Context(), testkit.Header(running.ID, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Park(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(t.Context(), running.ID); err != nil || s.Progress.Completed != 1 {
		t.Errorf("the progress of what was running is %+v, %v; want that of what is stored", s.Progress, err)
	}
	if q := r.query(running.ID); q.State != messages.Interrupted || q.Stop.Kind != messages.StopDrained || q.ResumesByItself() {
		t.Errorf("what was running is %s because of %+v", q.State, q.Stop)
	}
	if n := testkit.Stored(t, r.js, "ITEMS"); n != 0 {
		t.Errorf("%d items are queued", n)
	}
	if q := r.query(waiting.ID); q.State != messages.Interrupted || q.ResumesByItself() || q.Stop.Kind != string(messages.QuotaExhausted) {
		t.Errorf("what was waiting is %+v", q)
	}
	if q := r.query(ended.ID); q.State != messages.Complete {
		t.Errorf("what was complete is %s", q.State)
	}
}

func TestItemsThatTheQueueHasLostAreQueuedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, func(cfg *coordinator.Config) { cfg.StallAfter = 500 * time.Millisecond })
	testkit.Run(t, c.Run)
	q := r.submit(c, sites(3))
	testkit.Until(t, "the items are queued", func() bool { return testkit.Stored(t, r.js, "ITEMS") == 3 })
	r.purge("ITEMS", "braid.item.rivers."+q.ID+".>")
	r.work(testkit.NewScript(always))
	r.settles(q.ID, 1, messages.Complete)
}

func TestQueriesAreFoundByTheirFirstLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	if _, err := c.Find(t.Context(), ""); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("the newest of none: %v", err)
	}
	for _, id := range []string{"abcd", "abef"} {
		q := testkit.Query(id, 1)
		q.Created = q.Created.Add(time.Duration(len(id)+int(id[2])) * time.Second)
		if err := r.bus.CreateQuery(t.Context(), q, []byte("spec")); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"": "abef", "abc": "abcd", "abef": "abef"} {
		if q, err := c.Find(t.Context(), prefix); err != nil || q.ID != want {
			t.Errorf("%q finds %+v, %v; want %s", prefix, q, err, want)
		}
	}
	if _, err := c.Find(t.Context(), "ab"); !errors.Is(err, query.ErrAmbiguous) {
		t.Errorf("ab: %v, want ErrAmbiguous", err)
	}
	if _, err := c.Find(t.Context(), "x"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("x: %v, want ErrNotFound", err)
	}
}
