package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

const calm = 30 * time.Second // a lease that outlives the test

func TestAChunkIsAllItsPagesInOneResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		switch c.Cursor {
		case "":
			return testkit.Rows("a", 0, 2, "p2"), nil
		case "p2":
			return service.Page{Next: "p3", Status: 200}, nil // an empty page is no end
		default:
			return testkit.Rows("a", 2, 1, ""), nil
		}
	}), nil)
	r.publish(items(1)...)
	h, rows := r.result(0)
	if h.Outcome != messages.OutcomeRows || h.Rows != 3 || h.Pages != 3 || h.Requests != 3 || h.Worker != "w1" || h.Generation == 0 {
		t.Errorf("header %+v", h)
	}
	if want := "{\"site\":\"a\",\"n\":0}\n{\"site\":\"a\",\"n\":1}\n{\"site\":\"a\",\"n\":2}\n"; rows != want {
		t.Errorf("rows %q, want %q", rows, want)
	}
	r.queueIsEmpty()
}

func TestNoRowsAreAnEmptyResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if strings.Contains(c.Task, "0") {
			return service.Page{}, refuse(service.ClassNoData, 404, "no such site")
		}
		return service.Page{Status: 200}, nil
	}), nil)
	r.publish(items(2)...)
	for i := range 2 {
		if h, rows := r.result(i); h.Outcome != messages.OutcomeEmpty || rows != "" {
			t.Errorf("position %d: %+v with %q", i, h, rows)
		}
	}
}

func TestAPartialWalkIsNeverAResult(t *testing.T) {
	t.Parallel()
	big := testkit.Rows(strings.Repeat("x", 100), 0, 10, "p2")
	big.Rows = incompressible(2 << 20)
	for name, c := range map[string]struct {
		second error
		failed bool
	}{
		"refused for quota": {refuse(service.ClassQuota, 429, "slow down"), false},
		"service away":      {refuse(service.ClassTransient, 503, "away"), false},
		"wrong":             {refuse(service.ClassBadRequest, 400, "no"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			r.work("w1", testkit.NewScript(func(_ context.Context, c1 testkit.Call) (service.Page, error) {
				if c1.Cursor == "" {
					return big, nil
				}
				return service.Page{}, c.second
			}), nil)
			r.publish(items(1)...)
			if c.failed {
				if h, rows := r.result(0); h.Outcome != messages.OutcomeFailed || h.Rows != 0 || rows != "" {
					t.Errorf("the failure carries rows: %+v, %d bytes", h, len(rows))
				}
			} else {
				r.interrupted(1)
			}
			r.queueIsEmpty()
			if !c.failed && r.hasResult(0) {
				t.Error("a walk that was interrupted became a result")
			}
		})
	}
}

func TestASlotIsHeldForEachRequestAndNotDuringBackoff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	sent, answer := make(chan int), make(chan error)
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		sent <- r.heldSlots(2)
		if err := <-answer; err != nil {
			return service.Page{}, err
		}
		return testkit.Rows("a", 0, 1, ""), nil
	}), func(s *setup) { s.Retry = testkit.QuickRetry(3); s.Retry.RetryAfterCap = time.Minute })
	r.publish(items(1)...)
	for try := range 2 {
		if held := testkit.Receive(t, "request", sent); held != 1 {
			t.Errorf("try %d was sent with %d slots held, want 1", try, held)
		}
		if try == 0 {
			answer <- &service.ResponseError{Class: service.ClassTransient, Status: 503, RetryAfter: time.Second}
			testkit.Until(t, "the slot is free during the wait", func() bool { return r.heldSlots(2) == 0 })
			select {
			case <-sent:
				t.Fatal("the request was sent again before its wait was over, so that nothing was shown")
			default:
			}
		}
	}
	answer <- nil
	r.result(0)
	testkit.Until(t, "the slot is free in the end", func() bool { return r.heldSlots(2) == 0 })
}

func TestAQuotaRefusalClosesTheGateAndInterrupts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	script := testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, &service.ResponseError{Class: service.ClassQuota, Status: 429, RetryAfter: time.Hour, Message: "1000 an hour"}
	})
	r.work("w1", script, nil)
	before := time.Now()
	r.publish(items(3)...)
	for _, m := range r.interrupted(3) {
		if m.Kind != messages.QuotaExhausted || m.Until.Before(before.Add(time.Hour)) || m.Until.After(time.Now().Add(time.Hour)) {
			t.Errorf("interruption %+v, want one for quota that ends in an hour", m)
		}
		contains(t, m.Reason, "1000 an hour")
	}
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 1 {
		t.Errorf("%d requests were sent, want none after the refusal", n)
	}
	g, err := r.bus.Gate(t.Context(), "rivers")
	if err != nil || g == nil || g.Until.Before(before.Add(time.Hour)) || g.Worker != "w1" {
		t.Errorf("the gate is %+v, %v", g, err)
	}
	if r.heldSlots(1) != 0 {
		t.Error("a slot is held while the gate is closed")
	}
}

func TestTheGateOfAnotherWorkerHoldsForThisOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	now := time.Now()
	heard := make(chan *messages.Gate, 1)
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Records = gateHearing{p.Records, heard} }
	})
	if err := r.bus.CloseGate(t.Context(), &messages.Gate{V: 1, Service: "rivers", Until: now.Add(time.Hour), Reason: "quota", Worker: "w9", At: now}); err != nil {
		t.Fatal(err)
	}
	testkit.Receive(t, "word of the gate", heard)
	r.publish(items(1)...)
	if m := r.interrupted(1)[0]; m.Kind != messages.QuotaExhausted || m.Requests != 0 || !m.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("interruption %+v", m)
	}
	if n := len(script.Calls()); n != 0 {
		t.Errorf("%d requests were sent through the closed gate", n)
	}
}

type gateHearing struct {
	worker.Records
	heard chan *messages.Gate
}

func (h gateHearing) WatchGates(ctx context.Context, on func(*messages.Gate, error)) error {
	return h.Records.WatchGates(ctx, func(g *messages.Gate, err error) {
		on(g, err)
		h.heard <- g
	})
}

func TestAShortGateIsWaitedOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Try == 1 {
			return service.Page{}, &service.ResponseError{Class: service.ClassQuota, Status: 429, RetryAfter: 300 * time.Millisecond}
		}
		return testkit.Rows("a", 0, 1, ""), nil
	}), nil)
	before := time.Now()
	r.publish(items(1)...)
	h, _ := r.result(0)
	if h.Requests != 2 || h.Finished.Sub(before) < 300*time.Millisecond {
		t.Errorf("after %d requests in %v; want the second one after the gate", h.Requests, h.Finished.Sub(before))
	}
	if n := len(r.told()); n != 0 {
		t.Errorf("%d interruptions", n)
	}
}

func TestWhatFailsTheSameWayEveryTimeIsAFailedResult(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer   error
		class    string
		requests int
	}{
		"bad request":           {refuse(service.ClassBadRequest, 400, "no such parameter"), "bad_request", 1},
		"credentials":           {refuse(service.ClassAuth, 403, "no key"), "auth", 1},
		"link":                  {refuse(service.ClassBadLink, 200, "next leads elsewhere"), "bad_link", 1},
		"too large":             {refuse(service.ClassTooLarge, 413, "too much"), "too_large", 1},
		"contradiction":         {refuse(service.ClassBadPage, 200, "counts differ"), "bad_page", 2},
		"gives up as too large": {&service.ResponseError{Class: service.ClassTransient, GivesUpAs: service.ClassTooLarge, Status: 504}, "too_large", 3},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			script := testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) { return service.Page{}, c.answer })
			r.work("w1", script, nil)
			r.publish(items(1)...)
			h, rows := r.result(0)
			if h.Outcome != messages.OutcomeFailed || h.Failure.Class != c.class || rows != "" {
				t.Errorf("result %+v, failure %+v", h, h.Failure)
			}
			if n := len(script.Calls()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			r.queueIsEmpty()
			if n := len(r.told()); n != 0 {
				t.Errorf("%d interruptions beside the failure", n)
			}
		})
	}
}

func TestWhatPassesIsTriedAgainAndThenInterrupts(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"5xx": refuse(service.ClassTransient, 503, "away"), "no answer": errUnreadable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
				if strings.Contains(c.Task, "0") || c.Try < 3 {
					return service.Page{}, answer
				}
				return testkit.Rows("a", 0, 1, ""), nil
			})
			r.work("w1", script, nil)
			r.publish(items(2)...)
			m := r.interrupted(1)[0]
			if m.Kind != messages.ServiceInterrupted || m.Position != "0" || m.Requests != 3 {
				t.Errorf("interruption %+v, want one of the service after 3 requests", m)
			}
			if h, _ := r.result(1); h.Requests != 3 {
				t.Errorf("position 1 took %d requests, want 3", h.Requests)
			}
			if !m.Until.IsZero() {
				t.Errorf("the service named no time, and the interruption %s", m.Until)
			}
			r.queueIsEmpty()
			if r.hasResult(0) {
				t.Error("the interrupted position has a result")
			}
		})
	}
}

func TestAnInterruptionTellsTheTimeThatTheServiceNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	// Too long for a retry. What is beyond a day is not believed.
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, &service.ResponseError{Class: service.ClassTransient, Status: 503, RetryAfter: 48 * time.Hour, Message: "closed"}
	}), nil)
	before := time.Now()
	r.publish(items(1)...)
	m := r.interrupted(1)[0]
	if m.Kind != messages.ServiceInterrupted || m.Requests != 1 || m.Until.Before(before.Add(24*time.Hour)) || m.Until.After(time.Now().Add(24*time.Hour)) {
		t.Errorf("interruption %+v, want one of the service after 1 request, until tomorrow", m)
	}
}

func TestPagesThatDoNotEndFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		next     func(cursor string, n int) string
		edit     func(*setup)
		failed   bool
		requests int
	}{
		"in a circle": {func(cursor string, _ int) string {
			return map[string]string{"": "a", "a": "b", "b": "a"}[cursor]
		}, nil, true, 6},
		"the same page again":                        {func(string, int) string { return "a" }, nil, true, 4},
		"the same page again, where that is the end": {func(string, int) string { return "a" }, func(s *setup) { s.RepeatEnd = true }, false, 2},
		"more than the bound":                        {func(_ string, n int) string { return fmt.Sprint(n) }, func(s *setup) { s.MaxPages = 5 }, true, 5},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			n := 0
			script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
				n++
				return testkit.Rows("a", n, 1, c.next(call.Cursor, n)), nil
			})
			r.work("w1", script, c.edit)
			r.publish(items(1)...)
			h, _ := r.result(0)
			if failed := h.Outcome == messages.OutcomeFailed; failed != c.failed || failed && h.Failure.Class != string(service.ClassBadPage) {
				t.Errorf("result %+v, failure %+v", h, h.Failure)
			}
			if n := len(script.Calls()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

func TestAWalkWhoseCursorsAreGoneBeginsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		switch {
		case c.Cursor == "":
			return testkit.Rows("a", c.Try*10, 1, "p2"), nil
		case c.Try == 1:
			return service.Page{}, refuse(service.ClassCursorGone, 410, "expired")
		default:
			return testkit.Rows("a", 99, 1, ""), nil
		}
	}), nil)
	r.publish(items(1)...)
	h, rows := r.result(0)
	if want := "{\"site\":\"a\",\"n\":20}\n{\"site\":\"a\",\"n\":99}\n"; rows != want || h.Rows != 2 || h.Pages != 2 || h.Requests != 4 {
		t.Errorf("rows %q of %+v; want the second walk's alone", rows, h)
	}
}

func TestAnUnusableDefinitionFailsItsItems(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(rowsOf), func(s *setup) {
		s.ports = func(p *worker.Ports) {
			p.Upstreams = noUpstreams{refuse(service.ClassBadRequest, 0, "no such collection")}
		}
	})
	r.publish(items(1)...)
	if h, _ := r.result(0); h.Outcome != messages.OutcomeFailed || h.Failure.Message != "no such collection" {
		t.Errorf("result %+v", h)
	}
}

type noUpstreams struct{ err error }

func (n noUpstreams) Upstream(context.Context, *messages.Item) (*worker.Upstream, error) {
	return nil, n.err
}

func TestAStoreThatCannotBeAskedLeavesTheItem(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, time.Second) // the queue's patience is a second and a half
	flaky := &flakyUpstreams{ok: &testkit.Upstreams{Adapter: testkit.NewScript(rowsOf)}, errs: []error{errors.New("store away")}}
	r.work("w1", nil, func(s *setup) { s.ports = func(p *worker.Ports) { p.Upstreams = flaky } })
	r.publish(items(1)...)
	if h, _ := r.result(0); h.Outcome != messages.OutcomeRows {
		t.Errorf("result %+v", h)
	}
}

// flakyUpstreams is used by one item at a time.
type flakyUpstreams struct {
	ok   worker.Upstreams
	errs []error
}

func (f *flakyUpstreams) Upstream(ctx context.Context, item *messages.Item) (*worker.Upstream, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	return f.ok.Upstream(ctx, item)
}
