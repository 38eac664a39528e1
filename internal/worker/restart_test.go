package worker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// fewer is the answer of a service whose total has fallen since the page before.
func fewer() error {
	return &service.ResponseError{Class: service.ClassBadPage, Status: 200, Message: "fewer rows match", Unsteady: true}
}

func TestAWalkThatContradictsItselfBeginsAgainOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		walks int // that contradict themselves
		asked []string
		fails bool
	}{
		"once":     {1, []string{"", "p1", "p2", "p2", "", "p1", "p2"}, false},
		"for ever": {9, []string{"", "p1", "p2", "p2", "", "p1", "p2", "p2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			walks := 0
			script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
				if call.Cursor == "" {
					walks++
				}
				if call.Cursor == "p2" && walks <= c.walks {
					return service.Page{}, fewer()
				}
				return pageAt(call.Cursor, 3, 0), nil
			})
			r.work("w1", script, nil)
			r.publish(items(1)...)
			h, rows := r.result(0)
			if got := cursors(script); !slices.Equal(got, c.asked) {
				t.Errorf("asked for %q, want %q", got, c.asked)
			}
			if !c.fails {
				if rows != whole(3, 0) || h.Pages != 3 {
					t.Errorf("rows %q of %+v", rows, h)
				}
				return
			}
			if h.Outcome != messages.OutcomeFailed || h.Failure.Class != "bad_page" || h.Failure.Message != "fewer rows match" {
				t.Errorf("result %+v, failure %+v", h, h.Failure)
			}
		})
	}
}

func TestAWalkBeginsAgainOnceOverInterruptions(t *testing.T) {
	t.Parallel()
	for at, first := range map[string]string{"": "", "p1": "p1"} {
		t.Run("interrupted at "+at, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			walks, away := 0, false
			script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
				if walks > 0 && call.Cursor == at && !away {
					away = true
					return service.Page{}, refuse(service.ClassTransient, 503, "away")
				}
				if call.Cursor == "p2" {
					walks++
					return service.Page{}, fewer()
				}
				return pageAt(call.Cursor, 3, 0), nil
			})
			r.work("w1", script, func(s *setup) { s.Retry = testkit.QuickRetry(0) })
			r.publish(items(1)...)
			r.interrupted(1)
			r.queueIsEmpty()
			before := len(script.Calls())
			r.publish(later(2))
			if h, _ := r.result(0); h.Outcome != messages.OutcomeFailed {
				t.Errorf("result %+v", h)
			}
			got := cursors(script)[before:]
			if walks != 2 || got[0] != first || got[len(got)-1] != "p2" {
				t.Errorf("%d contradictions were seen, want 2; after the interruption %q was asked for", walks, got)
			}
		})
	}
}

func TestACircleOfALeftWalkIsWalkedAnewOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.leave("walk", time.Now(), "a", "b")
	script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
		if call.Cursor == "b" {
			return testkit.Rows("a", 7, 1, "a"), nil
		}
		return pageAt(call.Cursor, 3, 0), nil
	})
	r.work("w1", script, nil)
	r.publish(later(2))
	if h, rows := r.result(0); rows != whole(3, 0) || h.Walk == "walk" {
		t.Errorf("rows %q of %+v", rows, h)
	}
}

// What is wrong within one page is no reason to fetch the others again, and neither is a contradiction at the first one.
func TestAPageThatIsWrongForItselfFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left   bool
		answer error
	}{
		"at the second page, by itself": {true, refuse(service.ClassBadPage, 200, "counts differ")},
		"at the first page":             {false, fewer()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			if c.left {
				r.leave("walk", time.Now(), "a")
			}
			script := testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) { return service.Page{}, c.answer })
			r.work("w1", script, nil)
			r.publish(later(2))
			h, _ := r.result(0)
			if n := len(script.Calls()); h.Outcome != messages.OutcomeFailed || n != 2 {
				t.Errorf("%d requests, result %+v", n, h)
			}
		})
	}
}
