package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestWhatPagesClaimTravelsWithTheWalkToAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	claims := []service.Claims{{Rows: 8}, {Rows: 8, Pages: 4}, {Rows: 9, Pages: 5}}
	page := func(c testkit.Call) (service.Page, error) {
		page := pageAt(c.Cursor, 4, 0)
		if c.Pages < len(claims) {
			page.Claimed = claims[c.Pages]
		}
		return page, nil
	}
	before := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Pages == 2 {
			return service.Page{}, refuse(service.ClassTransient, 503, "away")
		}
		return page(c)
	})
	first := r.work("w1", before, func(s *setup) { s.Retry = testkit.QuickRetry(0) })
	r.publish(items(1)...)
	r.interrupted(1)
	r.queueIsEmpty()
	if err := first.Stop(t); err != nil {
		t.Fatal(err)
	}
	after := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) { return page(c) })
	r.work("w2", after, nil)
	r.publish(later(2))
	r.result(0)
	for i, call := range append(before.Calls()[1:2], after.Calls()...) {
		if want := claims[i]; call.Claimed != want {
			t.Errorf("request %d is told %+v, want %+v", i+2, call.Claimed, want)
		}
	}
	if n := len(after.Calls()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// Whoever finds no data behind a link or a cursor has lost the rows of that page.
func TestNoDataIsNoAnswerForAPageThatThePageBeforeNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.leave("walk", time.Now(), "a")
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Cursor == "" {
			return pageAt("", 2, 0), nil
		}
		return service.Page{}, refuse(service.ClassNoData, 204, "nothing here")
	})
	r.work("w1", script, func(s *setup) { s.Retry = testkit.QuickRetry(1) })
	r.publish(later(2))
	h, _ := r.result(0)
	if h.Outcome != messages.OutcomeFailed || h.Failure.Class != "bad_page" || h.Failure.Status != 204 {
		t.Fatalf("result %+v, failure %+v", h, h.Failure)
	}
	contains(t, h.Failure.Message, "no data at page 2, which the page before it named: nothing here")
	if n := len(script.Calls()); n != 5 {
		t.Errorf("%d requests, want 5: it is tried again, and so is the walk, once", n)
	}
}
