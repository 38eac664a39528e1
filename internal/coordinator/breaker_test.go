package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// numbered is a query of n sites, of which each is a chunk, that goes on after failures.
func numbered(n int) *query.Spec {
	spec := sites(1)
	spec.Values["site"] = nil
	for i := range n {
		spec.Values["site"] = append(spec.Values["site"], fmt.Sprintf("s%02d%d", i/10, i%10))
	}
	spec.Run.OnFailure = query.FailureFinish
	return spec
}

func allWrong(context.Context, testkit.Call) (service.Page, error) {
	return service.Page{}, refuse(service.ClassBadRequest, 400, 0)
}

func TestAQueryOfWhichAllIsWrongAsksForLittleOfIt(t *testing.T) {
	t.Parallel()
	const chunks, most = 1000, 20 + 2*16 // the breaker's minimum, and what was with the workers and on the way when it tripped
	r := newRig(t)
	c := r.lead()
	script := testkit.NewScript(allWrong)
	r.work(script)
	q := r.submit(c, numbered(chunks))
	for run := 1; run <= 2; run++ { // a resume arms it afresh
		before := len(script.Calls())
		stop := r.settles(q.ID, run, messages.Failed).Stop
		if n := len(script.Calls()) - before; n < 20 || n > most {
			t.Errorf("run %d sent %d requests for %d chunks that are all wrong, want 20 to %d", run, n, chunks, most)
		}
		want := &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25", Ended: 20, Failed: 20, Alike: 20}
		if diff := cmp.Diff(want, stop.Tripped); diff != "" || stop.Kind != messages.StopBreaker || stop.Status != 400 || stop.Class != "bad_request" {
			t.Errorf("run %d stopped by %+v: %s", run, stop, diff)
		}
		for _, word := range []string{"20 of the last 20 chunks failed", "25%", "all bad_request with HTTP 400", "such as chunk " + string(stop.Position), "as the test says"} {
			if !strings.Contains(stop.Reason, word) {
				t.Errorf("%q does not say %q", stop.Reason, word)
			}
		}
		if run == 1 {
			r.resume(c, q.ID)
		}
	}
	spec := numbered(chunks)
	spec.Run.OnFailure = ""
	before := len(script.Calls())
	q = r.submit(c, spec)
	if stop := r.settles(q.ID, 1, messages.Failed).Stop; stop.Position != "0" {
		t.Errorf("stopped by %+v", stop)
	}
	if n := len(script.Calls()) - before; n > most {
		t.Errorf("a query that stops at a failure sent %d requests, want at most %d", n, most)
	}
}

// A coordinator that knows nothing but the streams decides the same, also when the one before it did not come to write it down.
func TestANewCoordinatorComesToTheSameTrip(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.coordinator("c1", r.bus, nil)
	running := testkit.Run(t, first.Run)
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		if strings.HasSuffix(call.Task[:strings.Index(call.Task, "site=")+9], "1") { // s.1
			return service.Page{}, nil
		}
		return allWrong(ctx, call)
	})
	r.work(script)
	q := r.submit(first, numbered(300))
	decided := r.settles(q.ID, 1, messages.Failed).Stop
	if err := running.Stop(t); err != nil {
		t.Fatal(err)
	}
	calls := len(script.Calls())
	r.edit(q.ID, func(q *messages.Query) { q.State, q.Stop = messages.Running, nil })
	second := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, second.Run)
	again := r.settles(q.ID, 1, messages.Failed).Stop
	again.At = decided.At
	if diff := cmp.Diff(decided, again); diff != "" {
		t.Errorf("the second coordinator decides otherwise:\n%s", diff)
	}
	if n := len(script.Calls()) - calls; n != 0 {
		t.Errorf("%d requests were sent before the second coordinator had decided", n)
	}
}

func TestAServiceThatFailsManyAtOnceIsTheBreakersMatter(t *testing.T) {
	t.Parallel()
	const down = 12 // of 40
	r := newRig(t)
	c := r.lead()
	var waiting sync.WaitGroup
	waiting.Add(down)
	var failing atomic.Int64
	w := testkit.Worker(t, r.bus, worker.Config{ID: "w1"}, &testkit.Upstreams{
		Retry: testkit.QuickRetry(0),
		Adapter: testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
			if siteOf(call) < "s28" {
				return testkit.Rows(siteOf(call), 0, 1, ""), nil
			}
			waiting.Done()
			waiting.Wait() // all of them are in flight when the first one fails
			failing.Add(1)
			return service.Page{}, refuse(service.ClassTransient, 503, 0)
		}),
	}, nil)
	testkit.Run(t, w.Run)
	spec := sites(28 + down)
	spec.Run.InFlight = down + 4
	q := r.submit(c, spec)
	stopped := r.settles(q.ID, 1, messages.Interrupted)
	stop := stopped.Stop
	want := &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25"}
	if stop.Tripped != nil {
		want.Ended, want.Failed, want.Alike = stop.Tripped.Ended, stop.Tripped.Failed, stop.Tripped.Failed
	}
	if diff := cmp.Diff(want, stop.Tripped); diff != "" || stop.Kind != messages.StopBreaker || stop.Status != 503 || stop.Class != "" || stop.Hint == "" {
		t.Errorf("stopped by %+v: %s", stop, diff)
	}
	if at := stopped.ResumeAt(); !at.After(stop.At) {
		t.Errorf("it may go on at %v, and stopped at %v", at, stop.At)
	}
}

func TestWhatIsToFinishGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	var mended atomic.Bool
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		if s := siteOf(call); !mended.Load() && (s == "s03" || s == "s17") {
			return allWrong(ctx, call)
		}
		return two(call)
	})
	r.work(script)
	spec := sites(40)
	spec.Run.OnFailure = query.FailureFinish
	q := r.submit(c, spec)
	stopped := r.settles(q.ID, 1, messages.Failed)
	if stopped.Stop.Kind != messages.StopFailure || stopped.Stop.Position != "3" {
		t.Errorf("stopped by %+v", stopped.Stop)
	}
	survey, err := c.Survey(t.Context(), stopped)
	if err != nil || survey.Completed.Roots() != 38 {
		t.Errorf("%d of 38 are complete, %v", survey.Completed.Roots(), err)
	}
	list, err := c.Failures(t.Context(), q.ID)
	if err != nil || len(list.Failures) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []struct {
		position messages.Position
		site     string
	}{{"3", "s03"}, {"17", "s17"}} {
		f := list.Failures[i]
		if f.Position != want.position || f.Class != "bad_request" || f.Status != 400 || f.Requests != 1 || f.Worker != "w1" || !strings.Contains(f.Asks, want.site) {
			t.Errorf("failure %d is %+v", i, f)
		}
	}
	mended.Store(true)
	before := len(script.Calls())
	if again, err := c.Retry(t.Context(), q.ID, resumeAsBefore()); err != nil || again.Run != 2 || again.Only != nil {
		t.Fatalf("%+v, %v", again, err)
	}
	r.settles(q.ID, 2, messages.Complete)
	if n := len(script.Calls()) - before; n != 4 {
		t.Errorf("the retry sent %d requests, want 2 pages of 2 chunks", n)
	}
}
