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

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

func TestARunningQueryKeepsItsDefinition(t *testing.T) {
	t.Parallel()
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
