package coordinator_test

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// finished runs a query of n sites to its end.
func (r *rig) finished(c *coordinator.Coordinator, n int) *messages.Query {
	r.t.Helper()
	q := r.submit(c, sites(n))
	return r.settles(q.ID, 1, messages.Complete)
}

// spoil puts something that is no result, or a result of other rows, in the place of one.
func (r *rig) spoil(id, position, what string) {
	r.t.Helper()
	subject := "braid.result." + id + "." + position
	s, err := r.js.Stream(r.t.Context(), "RESULTS")
	if err != nil {
		r.t.Fatal(err)
	}
	have, err := s.GetLastMsgForSubject(r.t.Context(), subject)
	if err != nil {
		r.t.Fatal(err)
	}
	r.purge("RESULTS", subject)
	header, body := nats.Header{"Braid-Result": have.Header["Braid-Result"]}, have.Data
	switch what {
	case "gone":
		return
	case "cut":
		body = body[:len(body)/2]
	case "emptied":
		body = nil
	case "flipped":
		body = slices.Clone(body)
		body[len(body)-1] ^= 1
	case "no header":
		header = nil
	}
	r.put(subject, header, body)
}

func TestAVerificationFindsEachLossAndMakesItPending(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"gone", "cut", "emptied", "flipped", "no header"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.lead()
			script := testkit.NewScript(always)
			r.work(script)
			q := r.finished(c, 5)
			want := r.tables(c, q.ID)
			if v, err := c.Verify(t.Context(), q.ID, true); err != nil || !v.Whole() || v.Queries[0].Results != 5 || v.Queries[0].Bytes == 0 {
				t.Fatalf("of a whole query: %+v, %v", v, err)
			}
			r.spoil(q.ID, "3", what)
			asked := len(script.Calls())
			for range 2 { // looking changes nothing
				v, err := c.Verify(t.Context(), q.ID, false)
				if err != nil || v.Whole() || v.Queries[0].Damaged+v.Queries[0].Missing != 1 || v.Queries[0].Lost[0].Position != "3" || v.Queries[0].Reopened {
					t.Fatalf("a look: %+v, %v", v, err)
				}
			}
			if now := r.query(q.ID); now.State != messages.Complete {
				t.Fatalf("a look made it %s", now.State)
			}
			v, err := c.Verify(t.Context(), q.ID, true)
			if err != nil || !v.Queries[0].Reopened || v.Queries[0].State != messages.Interrupted {
				t.Fatalf("got %+v, %v", v, err)
			}
			if now := r.query(q.ID); now.State != messages.Interrupted || now.Stop.Kind != messages.StopDamaged || now.Stop.Position != "3" {
				t.Fatalf("it is %s because of %+v", now.State, now.Stop)
			}
			if v.Queries[0].Pending != 1 {
				t.Errorf("%d are pending: %+v", v.Queries[0].Pending, v)
			}
			// It is not found anew, and it is not forgotten either.
			if v, err := c.Verify(t.Context(), q.ID, true); err != nil || v.Whole() || !v.Queries[0].Lapsed || v.Queries[0].Results != 4 ||
				v.Queries[0].Pending != 1 || v.Queries[0].Damaged+v.Queries[0].Missing != 0 {
				t.Errorf("a second time: %+v, %v", v, err)
			}
			r.resume(c, q.ID)
			r.settles(q.ID, 2, messages.Complete)
			if v, err := c.Verify(t.Context(), q.ID, true); err != nil || !v.Whole() || v.Queries[0].Results != 5 {
				t.Errorf("after a resume: %+v, %v", v, err)
			}
			if got := r.tables(c, q.ID); !mapsEqual(got, want) {
				t.Error("the table is another one")
			}
			if n := len(script.Calls()) - asked; n > 2 {
				t.Errorf("%d requests for one lost chunk of two pages", n)
			}
		})
	}
}

func mapsEqual[K, V comparable](a, b map[K]V) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return len(a) == len(b)
}

func TestAVerificationFindsALostPageAndALostSpec(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	r.work(testkit.NewScript(always))
	q := r.finished(c, 3)
	r.purge("PARTS", "braid.page."+q.ID+".1.>")
	r.purge("KV_braid_queries", "$KV.braid_queries.spec."+q.Spec+".*")
	v, err := c.Verify(t.Context(), q.ID, false)
	if err != nil || v.Queries[0].Damaged != 1 || v.Queries[0].Lost[0].Position != "1" || !strings.Contains(v.Queries[0].Pinned, "not found") {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestARunningQueryIsOnlyLookedAt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	h := hold("s02")
	r.work(h.adapter)
	q := r.submit(c, sites(3))
	<-h.came
	testkit.Until(t, "two are complete", func() bool { return testkit.Stored(t, r.js, "RESULTS") == 2 })
	r.spoil(q.ID, "0", "flipped")
	v, err := c.Verify(t.Context(), q.ID, true)
	if err != nil || v.Queries[0].Damaged != 1 || v.Queries[0].Reopened {
		t.Errorf("got %+v, %v", v, err)
	}
	if n := testkit.Stored(t, r.js, "RESULTS"); n != 2 {
		t.Errorf("%d results are left", n)
	}
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
}

func TestALostResultStreamIsToldAndItsQueriesAreFetchedAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(r *rig){
		"gone": func(r *rig) {
			if err := r.js.DeleteStream(r.t.Context(), "RESULTS"); err != nil {
				r.t.Fatal(err)
			}
			testkit.Join(r.t, r.server) // as a coordinator does that starts
		},
		"emptied": func(r *rig) { r.purge("RESULTS", "braid.result.>") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.coordinator("c1", r.bus, nil)
			first := testkit.Run(t, c.Run)
			r.work(testkit.NewScript(always))
			done, other := r.finished(c, 3), r.finished(c, 4)
			want := r.tables(c, done.ID)
			_ = first.Stop(t)
			lose(r)
			testkit.Run(t, r.coordinator("c2", r.bus, nil).Run)
			for _, q := range []*messages.Query{done, other} {
				testkit.Until(t, q.ID+" is interrupted", func() bool { return r.query(q.ID).State == messages.Interrupted })
				if stop := r.query(q.ID).Stop; stop.Kind != messages.StopDamaged || !strings.Contains(stop.Reason, "of its chunks") && !strings.Contains(stop.Reason, "of this query's chunks") {
					t.Errorf("stopped because of %+v", stop)
				}
			}
			// Whoever leads next does not tell it again.
			before := r.query(done.ID).Updated
			if err := c.FindLost(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !r.query(done.ID).Updated.Equal(before) {
				t.Error("it was told twice")
			}
			r.resume(c, done.ID)
			r.settles(done.ID, 2, messages.Complete)
			if err := c.FindLost(t.Context()); err != nil || r.query(done.ID).State != messages.Complete {
				t.Errorf("what was fetched again is %s, %v", r.query(done.ID).State, err)
			}
			if got := r.tables(c, done.ID); !mapsEqual(got, want) {
				t.Error("the table is another one")
			}
		})
	}
}

// shift makes a record look as if its query had ended long ago.
func (r *rig) shift(id string, ago time.Duration) {
	r.t.Helper()
	r.edit(id, func(q *messages.Query) { q.Updated = time.Now().Add(-ago) })
}

func TestGarbageIsWhatNothingNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	r.work(testkit.NewScript(always))
	day := 24 * time.Hour
	old, young, base, child := r.finished(c, 3), r.finished(c, 3), r.finished(c, 3), r.finished(c, 3)
	oldBase, oldChild := r.finished(c, 3), r.finished(c, 3)
	lineage := testkit.Digest("lineage")
	for child, base := range map[string]string{child.ID: base.ID, oldChild.ID: oldBase.ID} {
		r.edit(child, func(q *messages.Query) { q.Lineage, q.Base = lineage, base })
		r.edit(base, func(q *messages.Query) { q.Lineage = lineage })
	}
	for _, q := range []*messages.Query{old, base, oldBase, oldChild} {
		r.shift(q.ID, 40*day)
	}
	waiting := r.submit(r.coordinator("c9", r.bus, nil), sites(2))
	r.settles(waiting.ID, 1, messages.Complete)
	r.edit(waiting.ID, func(q *messages.Query) {
		q.State, q.WaitUpTo, q.Updated = messages.Interrupted, 100*day, time.Now().Add(-40*day)
		q.Stop = &messages.Stop{Kind: string(messages.QuotaExhausted), Reason: "spent", At: q.Updated, Until: time.Now().Add(day)}
	})
	// Of a query that was removed while a worker was paused.
	if err := r.bus.NewResult("removed", "a").Commit(t.Context(), testkit.Header("removed", 0, 0)); err != nil {
		t.Fatal(err)
	}
	stored := func() int { return testkit.Stored(t, r.js, "RESULTS") + testkit.Stored(t, r.js, "PARTS") }
	before := stored()
	check := func(g *messages.Garbage, err error, dry bool) {
		t.Helper()
		var ids []string
		for _, q := range g.Queries {
			ids = append(ids, q.ID)
			if q.Results != 3 || q.Bytes <= 0 {
				t.Errorf("%s is told with %d results and %d bytes", q.ID, q.Results, q.Bytes)
			}
		}
		if want := []string{oldChild.ID, oldBase.ID, old.ID}; err != nil || !slices.Equal(ids, want) || g.DryRun != dry {
			t.Errorf("queries %v, %v; want %v", ids, err, want)
		}
		if len(g.Leftovers) != 1 || g.Leftovers[0].ID != "removed" || g.Bytes <= g.Leftovers[0].Bytes {
			t.Errorf("leftovers are %+v of %d bytes", g.Leftovers, g.Bytes)
		}
	}
	g, err := c.Collect(t.Context(), coordinator.GarbageOptions{OlderThan: 30 * day, DryRun: true})
	check(g, err, true)
	if stored() != before {
		t.Fatal("a dry run removed something")
	}
	g, err = c.Collect(t.Context(), coordinator.GarbageOptions{OlderThan: 30 * day})
	check(g, err, false)
	for _, q := range []*messages.Query{young, child, base} {
		if v, err := c.Verify(t.Context(), q.ID, false); err != nil || !v.Whole() {
			t.Errorf("%s: %+v, %v", q.ID, v, err)
		}
	}
	if now := r.query(waiting.ID); !now.ResumesByItself() {
		t.Errorf("what waits is %+v", now)
	}
	if g, err := c.Collect(t.Context(), coordinator.GarbageOptions{OlderThan: 30 * day}); err != nil || g.Bytes != 0 {
		t.Errorf("a second time: %+v, %v", g, err)
	}
	if g, err := c.Collect(t.Context(), coordinator.GarbageOptions{}); err != nil || len(g.Queries) != 0 {
		t.Errorf("without an age: %+v, %v", g, err)
	}
}

func TestPartsThatAnAttemptMayStillNeedAreNoGarbage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	c, err := coordinator.New(coordinator.Config{ID: "c1"}, coordinator.Ports{
		Queries: r.bus, Catalogue: r.bus, Items: r.bus, Results: r.bus, Services: r.bus, Definitions: r.definitions, Leader: r.bus.Leader(),
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]byte, 2<<20)
	_, _ = rand.Read(rows) // never fails
	store := func(id, attempt string) {
		t.Helper()
		if err := r.bus.NewResult(id, attempt).Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
	}
	running, stopped := r.submit(c, sites(3)), r.submit(c, sites(3))
	r.edit(stopped.ID, func(q *messages.Query) { q.State = messages.Interrupted })
	store(running.ID, "under-way")
	store(stopped.ID, "killed")
	w := r.bus.NewResult(stopped.ID, "walk")
	if _, _, err := w.Store(t.Context(), &messages.Page{V: 1, Run: 1, Position: "1", Rows: 1, Columns: []string{"n"}, Requests: 1, Worker: "w", Fetched: now}, "next", []byte(`{"n":1}`+"\n")); err != nil {
		t.Fatal(err)
	}
	kept := r.bus.NewResult(stopped.ID, "kept")
	if err := kept.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := kept.Commit(t.Context(), testkit.Header(stopped.ID, 2, 1)); err != nil {
		t.Fatal(err)
	}
	before := testkit.Stored(t, r.js, "PARTS")
	if g, err := c.Collect(t.Context(), coordinator.GarbageOptions{}); err != nil || g.Orphans.Attempts != 0 {
		t.Fatalf("what was stored just now: %+v, %v", g, err)
	}
	now = now.Add(2 * time.Hour)
	g, err := c.Collect(t.Context(), coordinator.GarbageOptions{})
	if err != nil || g.Orphans.Attempts != 1 || g.Orphans.Bytes < 2<<20 {
		t.Fatalf("got %+v, %v; want what the killed attempt has stored", g, err)
	}
	if _, _, err := r.bus.Result(t.Context(), stopped.ID, "2"); err != nil {
		t.Errorf("the result whose parts are kept: %v", err)
	}
	if page, err := r.bus.LastPage(t.Context(), stopped.ID, "1"); err != nil || page.Walk != "walk" {
		t.Errorf("the page that a resume goes on behind: %+v, %v", page, err)
	}
	if left := testkit.Stored(t, r.js, "PARTS"); left >= before || left == 0 {
		t.Errorf("%d parts are left of %d", left, before)
	}
}

func TestTheLeaderKeepsQueriesForAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.coordinator("c1", r.bus, nil)
	lead := testkit.Run(t, first.Run)
	r.work(testkit.NewScript(always))
	old, young := r.finished(first, 2), r.finished(first, 2)
	r.shift(old.ID, 91*24*time.Hour)
	r.shift(young.ID, 89*24*time.Hour)
	_ = lead.Stop(t)
	testkit.Run(t, r.coordinator("c2", r.bus, func(cfg *coordinator.Config) { cfg.Keep = 90 * 24 * time.Hour }).Run)
	testkit.Until(t, "the old one is removed", func() bool {
		_, _, err := r.bus.LoadQuery(t.Context(), old.ID)
		return errors.Is(err, messages.ErrNotFound)
	})
	if q := r.query(young.ID); q.State != messages.Complete {
		t.Errorf("the young one is %s", q.State)
	}
}

func TestAQueueThatIsGoneIsMadeAgainByWhoeverLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, sites(3))
	if err := r.js.DeleteStream(t.Context(), "ITEMS"); err != nil {
		t.Fatal(err)
	}
	testkit.Join(t, r.server)
	r.work(testkit.NewScript(always))
	testkit.Run(t, c.Run)
	r.settles(q.ID, 1, messages.Complete)
}

func TestAnInterruptedQueryIsNoGarbageHoweverOld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	r.work(testkit.NewScript(always))
	day := 24 * time.Hour
	ended, paused := r.finished(c, 2), r.finished(c, 2)
	r.edit(paused.ID, func(q *messages.Query) {
		q.State = messages.Interrupted
		q.Stop = &messages.Stop{Kind: messages.StopDrained, Reason: "for a holiday", At: q.Updated}
	})
	r.shift(ended.ID, 400*day)
	r.shift(paused.ID, 400*day)
	removed := func(opts coordinator.GarbageOptions) []string {
		t.Helper()
		g, err := c.Collect(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, q := range g.Queries {
			ids = append(ids, q.ID)
		}
		slices.Sort(ids)
		return ids
	}
	both := []string{ended.ID, paused.ID}
	slices.Sort(both)
	if got := removed(coordinator.GarbageOptions{OlderThan: 300 * day, Interrupted: true, DryRun: true}); !slices.Equal(got, both) {
		t.Errorf("asked for interrupted ones, %v would go; want %v", got, both)
	}
	if got := removed(coordinator.GarbageOptions{OlderThan: 300 * day}); !slices.Equal(got, []string{ended.ID}) {
		t.Errorf("%v went, want %s alone", got, ended.ID)
	}
	if now := r.query(paused.ID); now.State != messages.Interrupted {
		t.Errorf("it is %s", now.State)
	}
	if got := removed(coordinator.GarbageOptions{OlderThan: 300 * day, Interrupted: true}); !slices.Equal(got, []string{paused.ID}) {
		t.Errorf("%v went, want %s", got, paused.ID)
	}
}
