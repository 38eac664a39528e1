package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

func TestARetryRunsWhatFailedAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.coordinator("c1", r.bus, nil)
	leading := testkit.Run(t, first.Run)
	var mended atomic.Bool
	h := hold()
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		if s := siteOf(call); s == "s03" {
			if !mended.Load() {
				return allWrong(ctx, call)
			}
			h.came <- s
			<-h.letGo
		}
		return two(call)
	})
	r.work(script)
	q := r.submit(first, sites(60)) // it stops at the failure
	r.settles(q.ID, 1, messages.Failed)
	mended.Store(true)
	before := len(script.Calls())
	again, err := first.Retry(t.Context(), q.ID, resumeAsBefore())
	if err != nil || len(again.Only) != 1 || again.Only[0] != "3" {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, err := first.Retry(t.Context(), q.ID, resumeAsBefore()); !errors.Is(err, query.ErrState) {
		t.Errorf("a retry of a running query gives %v", err)
	}
	testkit.Receive(t, "request", h.came)
	if err := leading.Stop(t); err != nil { // who takes over knows what the run is limited to
		t.Fatal(err)
	}
	c := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, c.Run)
	close(h.letGo)
	stop := r.settles(q.ID, 2, messages.Interrupted).Stop
	if stop.Kind != messages.StopRetried || !strings.Contains(stop.Reason, "others have no result yet") {
		t.Errorf("stopped by %+v", stop)
	}
	for _, call := range script.Calls()[before:] {
		if siteOf(call) != "s03" {
			t.Errorf("the retry asked for %s", siteOf(call))
		}
	}
	if list, err := c.Failures(t.Context(), q.ID); err != nil || len(list.Failures) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.Retry(t.Context(), q.ID, resumeAsBefore()); !errors.Is(err, query.ErrState) || !strings.Contains(err.Error(), "braid resume") {
		t.Errorf("a retry without failures gives %v", err)
	}
	if resumed := r.resume(c, q.ID); len(resumed.Only) != 0 {
		t.Errorf("the resume is limited to %v", resumed.Only)
	}
	r.settles(q.ID, 3, messages.Complete)
}

func TestTheFailuresOfChildrenAreListedWithWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.definitions.change(strings.NewReplacer("{type: text}}\n    axes", "{type: text, many: comma}}\n    axes", "{each: site}", "{pack: site}").Replace(rivers))
	c := r.lead()
	r.work(testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		switch {
		case strings.Contains(call.Task, "s00") && strings.Contains(call.Task, "s03"):
			return service.Page{}, refuse(service.ClassTooLarge, 413, 0)
		case strings.Contains(call.Task, "s03"):
			return allWrong(ctx, call)
		}
		return testkit.Rows("s00", 0, 1, ""), nil
	}))
	q := r.submit(c, sites(4))
	r.settles(q.ID, 1, messages.Failed)
	list, err := c.Failures(t.Context(), q.ID)
	if err != nil || len(list.Failures) != 1 || list.Failures[0].Position != "0.1" || !strings.Contains(list.Failures[0].Asks, "s02, s03") {
		t.Errorf("%+v, %v", list, err)
	}
	r.edit(q.ID, func(q *messages.Query) { q.Fingerprint = testkit.Digest("another plan") })
	if list, err := c.Failures(t.Context(), q.ID); err != nil || len(list.Failures) != 1 || list.Failures[0].Asks != "" {
		t.Errorf("of another plan: %+v, %v", list, err)
	}
}

// After a failure nothing more is begun behind it: what was queued is handed back, and only what was in flight may have been sent.
func TestAfterAFailureNothingBehindItIsBegun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	var failed atomic.Pointer[string] // the chunk that is sent first
	flight := make(chan struct{})
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		at := siteOf(call)
		if failed.CompareAndSwap(nil, &at) || *failed.Load() == at {
			return allWrong(ctx, call)
		}
		select {
		case <-flight: // what is in flight ends when all else has been handed back
			return two(call)
		case <-ctx.Done():
			return service.Page{}, ctx.Err()
		}
	})
	r.work(script)
	q := r.submit(c, sites(60))
	var back atomic.Int64
	testkit.Run(t, func(ctx context.Context) error {
		return r.bus.TrackInterruptions(ctx, q.ID, func(*messages.Interruption) { back.Add(1) }, func(err error) { t.Error(err) }, func() {})
	})
	// sent tells which chunks were sent, how many of them stand behind the failure, and how many before it were not.
	sent := func() (behind, before int) {
		asked := map[string]bool{}
		for _, call := range script.Calls() {
			asked[siteOf(call)] = true
		}
		for _, site := range sites(60).Values["site"] {
			switch {
			case asked[site] && site > *failed.Load():
				behind++
			case !asked[site] && site < *failed.Load():
				before++
			}
		}
		return behind, before
	}
	testkit.Until(t, "all that is queued behind the failure is handed back", func() bool {
		if failed.Load() == nil {
			return false
		}
		behind, _ := sent()
		var p int
		_, err := fmt.Sscanf(*failed.Load(), "s%d", &p)
		return err == nil && int(back.Load())+behind+p+1 == 16
	})
	close(flight)
	if q = r.settles(q.ID, 1, messages.Failed); q.Stop.Position.Index() >= 8 || q.Bound != "" {
		t.Errorf("it ends with %+v, bound %q", q.Stop, q.Bound)
	}
	if behind, before := sent(); behind > 4 || before > 0 {
		t.Errorf("%d chunks behind the failure at %s were sent, %d before it were not", behind, *failed.Load(), before)
	}
	failed.Store(nil)
	r.resume(c, q.ID)
	r.settles(q.ID, 2, messages.Failed)
}

func TestOfSeveralFailuresTheLowestPositionSpeaks(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
