package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

func TestASubmittedQueryIsRunToItsEnd(t *testing.T) {
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

func TestANewCoordinatorGoesOnWhereTheLastOneStood(t *testing.T) {
	r := newRig(t)
	first := r.coordinator("c1", r.bus, nil)
	running := testkit.Run(t, first.Run)
	h := hold("s03", "s04")
	r.work(h.adapter)
	q := r.submit(first, sites(30))
	testkit.Receive(t, "held request", h.came)
	testkit.Receive(t, "held request", h.came)
	if err := running.Stop(t); err != nil {
		t.Fatal(err)
	}
	close(h.letGo)
	second := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, second.Run)
	r.settles(q.ID, 1, messages.Complete)
	if n := len(h.adapter.Calls()); n != 60 {
		t.Errorf("%d requests for 30 chunks of two pages: something was fetched again", n)
	}
	undisturbed := newRig(t)
	c := undisturbed.lead()
	undisturbed.work(testkit.NewScript(always))
	whole := undisturbed.submit(c, sites(30))
	undisturbed.settles(whole.ID, 1, messages.Complete)
	if diff := cmp.Diff(undisturbed.tables(c, whole.ID), r.tables(second, q.ID)); diff != "" {
		t.Errorf("the table differs from the undisturbed one: %s", diff)
	}
}

func TestAnInterruptionStopsAndAResumeCompletes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	states := r.watchStates(t)
	var exhausted sync.Map
	var answered atomic.Int64
	script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
		if _, refilled := exhausted.Load("refilled"); !refilled && siteOf(call) >= "s10" {
			return service.Page{}, refuse(service.ClassQuota, 429, time.Second)
		}
		answered.Add(1)
		return two(call)
	})
	r.work(script)
	q := r.submit(c, sites(20))
	stopped := r.settles(q.ID, 1, messages.Interrupted)
	if stopped.Stop.Kind != string(messages.QuotaExhausted) || !strings.Contains(stopped.Stop.Reason, "as the test says") || !stopped.Stop.Until.After(stopped.Stop.At) {
		t.Errorf("stopped because of %+v", stopped.Stop)
	}
	testkit.Until(t, "the watch has seen all states", func() bool { return len(states(q.ID)) >= 3 })
	if seen := states(q.ID); !slices.Equal(seen, []messages.QueryState{messages.Running, messages.Stopping, messages.Interrupted}) {
		t.Errorf("it went through %v", seen)
	}
	if n := testkit.Stored(t, r.js, "ITEMS"); n != 0 {
		t.Errorf("%d items are queued for an interrupted query", n)
	}
	survey, err := c.Survey(t.Context(), stopped)
	if err != nil || survey.Completed.Roots() == 0 || survey.Completed.Roots() > 10 {
		t.Fatalf("%d positions are complete, %v", survey.Completed.Roots(), err)
	}
	before, had, queued := len(script.Calls()), int(answered.Load()), testkit.Published(t, r.js, "ITEMS")
	exhausted.Store("refilled", true)
	testkit.Until(t, "the gate is open again", func() bool { return time.Now().After(stopped.Stop.Until) })
	if resumed := r.resume(c, q.ID); resumed.Run != 2 || resumed.Stop != nil {
		t.Errorf("resumed as %+v", resumed)
	}
	r.settles(q.ID, 2, messages.Complete)
	if n, want := len(script.Calls())-before, 2*20-had; n != want {
		t.Errorf("the resume took %d requests, want %d: the pages that nobody has fetched", n, want)
	}
	if n, want := testkit.Published(t, r.js, "ITEMS")-queued, 20-survey.Completed.Roots(); n != want {
		t.Errorf("the resume queued %d items, want %d: those without a result", n, want)
	}
	if _, err := c.Resume(t.Context(), q.ID, coordinator.ResumeOptions{}); !errors.Is(err, query.ErrState) {
		t.Errorf("resume of a complete query gave %v, want ErrState", err)
	}
	if _, err := c.Cancel(t.Context(), q.ID); !errors.Is(err, query.ErrState) {
		t.Errorf("cancel of a complete query gave %v, want ErrState", err)
	}
}

// watchStates collects the states that queries go through.
func (r *rig) watchStates(t *testing.T) func(id string) []messages.QueryState {
	var mu sync.Mutex
	seen := map[string][]messages.QueryState{}
	testkit.Run(t, func(ctx context.Context) error {
		return r.bus.WatchQueries(ctx, func(id string, q *messages.Query, _ uint64, _ error) {
			mu.Lock()
			defer mu.Unlock()
			if before := seen[id]; q != nil && (len(before) == 0 || before[len(before)-1] != q.State) {
				seen[id] = append(before, q.State)
			}
		}, func() {})
	})
	return func(id string) []messages.QueryState {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen[id])
	}
}

func TestAShortQuotaPauseIsWaitedOutByItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
		if siteOf(call) == "s02" && call.Try == 1 {
			return service.Page{}, refuse(service.ClassQuota, 429, 700*time.Millisecond)
		}
		return two(call)
	})
	r.work(script)
	spec := sites(4)
	spec.Run.OnQuota.WaitUpTo = query.Duration(time.Minute)
	q := r.submit(c, spec)
	testkit.Until(t, "the query has resumed by itself and is complete", func() bool {
		now := r.query(q.ID)
		return now.State == messages.Complete && now.Run > 1
	})
}

func TestALongQuotaPauseIsLeftToPeople(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	r.work(testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, refuse(service.ClassQuota, 429, time.Hour)
	}))
	spec := sites(4)
	spec.Run.OnQuota.WaitUpTo = query.Duration(time.Minute)
	q := r.submit(c, spec)
	if stopped := r.settles(q.ID, 1, messages.Interrupted); stopped.ResumesByItself() {
		t.Errorf("it would resume by itself at %v", stopped.ResumeAt())
	}
}

func TestAQueryThatWaitsCanBeInterrupted(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	r.work(testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, refuse(service.ClassQuota, 429, 30*time.Minute)
	}))
	spec := sites(4)
	spec.Run.OnQuota.WaitUpTo = query.Duration(time.Hour)
	q := r.submit(c, spec)
	if waiting := r.settles(q.ID, 1, messages.Interrupted); !waiting.ResumesByItself() {
		t.Fatalf("it does not wait: %+v", waiting.Stop)
	}
	if err := c.Interrupt(t.Context(), q.ID, "test"); err != nil {
		t.Fatal(err)
	}
	// Why it stopped, and when it can go on, is as true as before.
	if now := r.query(q.ID); now.ResumesByItself() || now.Stop.Kind != string(messages.QuotaExhausted) || time.Until(now.ResumeAt()) < 20*time.Minute {
		t.Errorf("stopped by %+v", now.Stop)
	}
}

func TestAResumeRefusesAnotherPlan(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	q := r.submit(c, sites(4)) // no worker: it stays running
	if err := c.Interrupt(t.Context(), q.ID, "test"); err != nil {
		t.Fatal(err)
	}
	r.edit(q.ID, func(q *messages.Query) { q.Fingerprint = testkit.Digest("another plan") })
	_, err := c.Resume(t.Context(), q.ID, coordinator.ResumeOptions{})
	if !errors.Is(err, query.ErrFingerprint) {
		t.Fatalf("resume gave %v, want ErrFingerprint", err)
	}
	if _, err := c.Export(t.Context(), q.ID, true); !errors.Is(err, query.ErrFingerprint) {
		t.Errorf("export gave %v, want ErrFingerprint", err)
	}
	if now := r.query(q.ID); now.State != messages.Interrupted || now.Run != 1 {
		t.Errorf("the refused query is %s in run %d", now.State, now.Run)
	}
}

func TestAQueryThatCanNeverGoOnFailsWithTheReason(t *testing.T) {
	r := newRig(t)
	c := r.coordinator("later", r.bus, nil)
	q := r.submit(c, sites(4))
	r.edit(q.ID, func(q *messages.Query) { q.Fingerprint = testkit.Digest("another plan") })
	r.lead()
	now := r.settles(q.ID, 1, messages.Failed)
	if !strings.Contains(now.Stop.Reason, "plan differs") || now.Stop.Hint == "" {
		t.Errorf("stopped because of %+v", now.Stop)
	}
	if _, err := c.Cancel(t.Context(), q.ID); !errors.Is(err, query.ErrState) {
		t.Errorf("cancel of a failed query gave %v, want ErrState", err)
	}
	if kept := r.settles(q.ID, 1, messages.Failed); kept.Stop.Reason != now.Stop.Reason {
		t.Errorf("after a cancel it ended by %+v", kept.Stop)
	}
	if newest, err := c.Find(t.Context(), "latest"); err != nil || newest.ID != q.ID {
		t.Errorf("latest is %+v, %v", newest, err)
	}
}

func TestTheLowestNumberThatAnActiveQueryAsksForIsTheServices(t *testing.T) {
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

func TestARunningQueryKeepsItsDefinition(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	q := r.submit(c, sites(4))
	if err := c.Interrupt(t.Context(), q.ID, "test"); err != nil {
		t.Fatal(err)
	}
	r.definitions.change(strings.ReplaceAll(rivers, "site", "place"))
	r.resume(c, q.ID)
	script := testkit.NewScript(always)
	r.work(script)
	r.settles(q.ID, 2, messages.Complete)
}

func TestACancelTakesEverythingBackAtOnce(t *testing.T) {
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
	r := newRig(t)
	c := r.lead()
	q := r.submit(c, sites(4))
	if err := c.Remove(t.Context(), q.ID); !errors.Is(err, query.ErrState) {
		t.Errorf("got %v, want ErrState", err)
	}
}

func TestOfSeveralFailuresTheLowestPositionSpeaks(t *testing.T) {
	for _, rule := range []query.OnFailure{query.FailureFinish, query.FailureStop} {
		t.Run(string(rule), func(t *testing.T) { severalFail(t, rule) })
	}
}

// severalFail has positions 1 and 3 of 8 fail, the higher one first.
func severalFail(t *testing.T, rule query.OnFailure) {
	t.Helper()
	r := newRig(t)
	c := r.lead()
	var mended sync.Map
	higher := make(chan struct{})
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		_, ok := mended.Load("mended")
		switch {
		case ok:
		case siteOf(call) == "s03":
			defer close(higher)
			return service.Page{}, refuse(service.ClassBadRequest, 422, 0)
		case siteOf(call) == "s01":
			select {
			case <-higher:
			case <-ctx.Done():
			}
			return service.Page{}, refuse(service.ClassBadRequest, 400, 0)
		case siteOf(call) == "s02" && call.Try == 1:
			return service.Page{}, refuse(service.ClassTransient, 503, 0)
		}
		return two(call)
	})
	r.work(script)
	spec := sites(8)
	spec.Run.OnFailure = rule
	q := r.submit(c, spec)
	failed := r.settles(q.ID, 1, messages.Failed)
	if failed.Stop.Kind != messages.StopFailure || failed.Stop.Position != "1" || failed.Stop.Status != 400 || failed.Stop.Class != "bad_request" {
		t.Errorf("it failed because of %+v, want position 1", failed.Stop)
	}
	survey, err := c.Survey(t.Context(), failed)
	if err != nil || survey.Progress.Failed != 2 {
		t.Errorf("survey %+v, %v; want two failures", survey.Progress, err)
	}
	done := survey.Completed.Roots()
	if rule == query.FailureFinish && done != 6 || !survey.Completed.Has("0") {
		t.Errorf("survey %+v; want what is not wrong to be complete, all of it or what stands before the failure", survey.Progress)
	}
	before := len(script.Calls())
	mended.Store("mended", true)
	r.resume(c, q.ID)
	r.settles(q.ID, 2, messages.Complete)
	var again []string
	for _, call := range script.Calls()[before:] {
		if call.Cursor == "" {
			again = append(again, siteOf(call))
		}
	}
	slices.Sort(again)
	if !slices.Contains(again, "s01") || !slices.Contains(again, "s03") || len(again) != 8-done {
		t.Errorf("the resume asked for %v, want the failed ones and what was not begun", again)
	}
}

func TestAFailureOutranksAnInterruption(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	var once sync.Once
	under := make(chan struct{}) // both are under way: neither is handed back because of the other
	r.work(testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		switch siteOf(call) {
		case "s00":
			select {
			case <-under:
			case <-ctx.Done():
			}
			return service.Page{}, refuse(service.ClassTransient, 503, 0)
		case "s01":
			once.Do(func() { close(under) })
			return service.Page{}, refuse(service.ClassBadRequest, 400, 0)
		}
		return two(call)
	}))
	q := r.submit(c, sites(2))
	if failed := r.settles(q.ID, 1, messages.Failed); failed.Stop.Position != "1" {
		t.Errorf("stopped because of %+v", failed.Stop)
	}
}

func TestWrongCredentialsStopAtOnce(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	script := testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, refuse(service.ClassAuth, 403, 0)
	})
	r.work(script)
	q := r.submit(c, sites(90))
	if failed := r.settles(q.ID, 1, messages.Failed); failed.Stop.Class != "auth" || failed.Stop.Hint == "" {
		t.Errorf("stopped because of %+v", failed.Stop)
	}
	if n := len(script.Calls()); n >= 90 {
		t.Errorf("%d requests with wrong credentials", n)
	}
}

func TestAStandbyTakesOverFromALeaderThatStops(t *testing.T) {
	r := newRig(t)
	first, second := r.coordinator("c1", r.bus, nil), r.coordinator("c2", r.bus, nil)
	leading := testkit.Run(t, first.Run)
	testkit.Until(t, "the first one leads", func() bool { return r.leads("c1") })
	testkit.Run(t, second.Run)
	h := hold("s02")
	r.work(h.adapter)
	q := r.submit(second, sites(30)) // a standby accepts commands too
	testkit.Receive(t, "held request", h.came)
	if !r.leads("c1") {
		t.Error("the leader changed without need")
	}
	if err := leading.Stop(t); err != nil {
		t.Fatal(err)
	}
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
	if !r.leads("c2") {
		t.Error("nobody follows the leader that stopped")
	}
	if n := len(h.adapter.Calls()); n != 60 {
		t.Errorf("%d requests for 30 chunks of two pages", n)
	}
}

func TestAStandbyTakesOverFromALeaderThatDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lone := testkit.Join(t, r.server)
	testkit.Run(t, r.coordinator("c1", lone, nil).Run)
	testkit.Until(t, "the first one leads", func() bool { return r.leads("c1") })
	second := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, second.Run)
	h := hold("s02")
	r.work(h.adapter)
	q := r.submit(second, sites(30))
	testkit.Receive(t, "held request", h.came)
	lone.Close() // from now on nothing that the first one does arrives
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
	if !r.leads("c2") {
		t.Error("nobody follows the leader that died")
	}
	if n := len(h.adapter.Calls()); n != 60 {
		t.Errorf("%d requests for 30 chunks of two pages", n)
	}
}

func (r *rig) leads(id string) bool {
	r.t.Helper()
	e, err := r.bus.Leader().Get(r.t.Context(), "coordinator.0")
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(string(e.Value), id)
}

func TestALostResultIsFetchedAgainAndNothingElse(t *testing.T) {
	for name, damage := range map[string]func(r *rig, subject string){
		"gone": func(r *rig, subject string) { r.purge("RESULTS", subject) },
		"changed": func(r *rig, subject string) {
			s, err := r.js.Stream(r.t.Context(), "RESULTS")
			if err != nil {
				r.t.Fatal(err)
			}
			msg, err := s.GetLastMsgForSubject(r.t.Context(), subject)
			if err != nil {
				r.t.Fatal(err)
			}
			r.purge("RESULTS", subject)
			r.put(subject, msg.Header, []byte("something else"))
		},
		"unreadable": func(r *rig, subject string) {
			r.purge("RESULTS", subject)
			r.put(subject, nil, []byte("something else"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c := r.lead()
			script := testkit.NewScript(always)
			r.work(script)
			q := r.submit(c, sites(10))
			r.settles(q.ID, 1, messages.Complete)
			want := r.tables(c, q.ID)

			damage(r, "braid.result."+q.ID+".4")
			if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, messages.ErrDamaged) {
				t.Fatalf("export gave %v, want ErrDamaged", err)
			}
			reopened := r.query(q.ID)
			if reopened.State != messages.Interrupted || reopened.Stop.Kind != messages.StopDamaged || reopened.Stop.Position != "4" {
				t.Errorf("the query is %s because of %+v", reopened.State, reopened.Stop)
			}
			before := len(script.Calls())
			r.resume(c, q.ID)
			r.settles(q.ID, 2, messages.Complete)
			again := script.Calls()[before:]
			// The first page is stored by itself and was not lost.
			if len(again) != 1 || siteOf(again[0]) != "s04" || again[0].Pages != 1 {
				t.Errorf("the resume asked for %v, want the last page of s04", again)
			}
			if diff := cmp.Diff(want, r.tables(c, q.ID)); diff != "" {
				t.Errorf("the table differs from the one before the loss: %s", diff)
			}
		})
	}
}

func TestTheTableDoesNotDependOnTheOrderOfResults(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	var mu sync.Mutex
	waiting := map[string]chan struct{}{"s00": make(chan struct{}), "s01": make(chan struct{}), "s02": make(chan struct{})}
	after := map[string]string{"s01": "s00", "s02": "s01", "s03": "s02"} // who ends lets whom go
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		mu.Lock()
		mine, next := waiting[siteOf(call)], waiting[after[siteOf(call)]]
		mu.Unlock()
		if mine != nil {
			select {
			case <-mine:
			case <-ctx.Done():
			}
		}
		if call.Cursor != "" && next != nil {
			defer close(next)
		}
		return two(call)
	})
	r.work(script)
	backwards := r.submit(c, sites(4))
	r.settles(backwards.ID, 1, messages.Complete)
	first := r.tables(c, backwards.ID)
	if diff := cmp.Diff(first, r.tables(c, backwards.ID)); diff != "" {
		t.Errorf("two exports differ: %s", diff)
	}
	other := newRig(t)
	c2 := other.lead()
	other.work(testkit.NewScript(always))
	forwards := other.submit(c2, sites(4))
	other.settles(forwards.ID, 1, messages.Complete)
	if diff := cmp.Diff(first, other.tables(c2, forwards.ID)); diff != "" {
		t.Errorf("the tables of two runs differ: %s", diff)
	}
}

func TestAnUnfinishedTableIsGivenOnlyWhenAskedFor(t *testing.T) {
	r := newRig(t)
	c := r.lead()
	h := hold("s01")
	r.work(h.adapter)
	q := r.submit(c, sites(3))
	testkit.Receive(t, "held request", h.came)
	testkit.Until(t, "the others are complete", func() bool {
		survey, err := c.Survey(t.Context(), q)
		return err == nil && survey.Completed.Roots() == 2
	})
	if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, query.ErrIncomplete) {
		t.Errorf("export gave %v, want ErrIncomplete", err)
	}
	e, err := c.Export(t.Context(), q.ID, true)
	if err != nil || e.Table.Report.Rows != 8 || e.Meta["braid.partial"] != "true" {
		t.Errorf("the partial table: %+v, %v", e, err)
	}
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
}

func TestParkLeavesNothingThatGoesOnByItself(t *testing.T) {
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
