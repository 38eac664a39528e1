package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestAChunkThatIsTooLargeIsSplitOrSaysWhatItAsksFor(t *testing.T) {
	t.Parallel()
	at504 := &service.ResponseError{Class: service.ClassTransient, GivesUpAs: service.ClassTooLarge, Status: 504, Message: "too slow"}
	for name, c := range map[string]struct {
		answer    error
		page      int // that is refused
		divisible bool
		class     string // of the failure; empty: it is split
		requests  int
	}{
		"at once":                           {refuse(service.ClassTooLarge, 413, "too much"), 0, true, "", 1},
		"after retries":                     {at504, 0, true, "", 3},
		"behind two pages":                  {refuse(service.ClassTooLarge, 413, "too much"), 2, true, "", 3},
		"behind two pages, after retries":   {at504, 2, true, "", 5},
		"indivisible":                       {refuse(service.ClassTooLarge, 413, "too much"), 0, false, "too_large", 1},
		"indivisible, behind a page":        {at504, 1, false, "too_large", 4},
		"wrong":                             {refuse(service.ClassBadRequest, 400, "no such site"), 0, true, "bad_request", 1},
		"contradicts itself, after retries": {refuse(service.ClassBadPage, 200, "counts differ"), 1, true, "bad_page", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
				if call.Pages == c.page {
					return service.Page{}, c.answer
				}
				return pageAt(call.Cursor, 9, 1<<20), nil
			})
			r.work("w1", script, nil)
			item := testkit.Item("q", 0)
			item.Divisible, item.Asks = c.divisible, "site: 2 values from S1 to S2"
			r.publish(item)
			h, rows := r.result(0)
			r.queueIsEmpty()
			if n := len(script.Calls()); n != c.requests || h.Requests != n {
				t.Errorf("%d requests, want %d, and the result says %d", n, c.requests, h.Requests)
			}
			if rows != "" || h.Rows != 0 || h.Parts != 0 || h.StoredPages != 0 || len(h.Columns) != 0 {
				t.Errorf("%d bytes of rows of %+v", len(rows), h)
			}
			if n := len(r.told()); n != 0 {
				t.Errorf("%d interruptions", n)
			}
			if c.class == "" {
				if h.Outcome != messages.OutcomeSplit || h.Failure != nil {
					t.Errorf("result %+v", h)
				}
				if n := testkit.Stored(t, r.js, "PARTS"); n != 0 {
					t.Errorf("%d messages are left of pages that are nobody's", n)
				}
				return
			}
			if h.Outcome != messages.OutcomeFailed || h.Failure.Class != c.class {
				t.Fatalf("result %+v, failure %+v", h, h.Failure)
			}
			told := h.Failure.Message + " " + h.Failure.Hint
			if c.class != "bad_page" {
				contains(t, told, item.Asks)
			}
			answer, _ := errors.AsType[*service.ResponseError](c.answer)
			contains(t, told, answer.Message)
		})
	}
}

func TestWhatWasThereFirstStaysWhenAChunkIsSplit(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]messages.Outcome{"a split": messages.OutcomeSplit, "rows": messages.OutcomeRows} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
				if c.Cursor == "" {
					return pageAt("", 2, 0), nil
				}
				h := testkit.Header("q", 0, 2)
				w := r.another(t)
				h.Outcome, h.Pages = outcome, 1
				if outcome == messages.OutcomeSplit {
					h.Rows, h.Pages, w = 0, 0, r.bus.NewResult("q", "another")
				}
				if err := w.Commit(t.Context(), h); err != nil {
					t.Error(err)
				}
				return service.Page{}, refuse(service.ClassTooLarge, 413, "too much")
			}), nil)
			item := testkit.Item("q", 0)
			item.Divisible = true
			r.publish(item)
			r.queueIsEmpty()
			h, rows := r.result(0)
			if h.Attempt != "another" || h.Outcome != outcome || outcome == messages.OutcomeRows && rows != whole(1, 0) {
				t.Errorf("rows %q of %+v", rows, h)
			}
			if n := len(r.told()); n != 0 {
				t.Errorf("%d interruptions", n)
			}
		})
	}
}

func TestAHugeRefusalStillNamesWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		return service.Page{}, refuse(service.ClassTooLarge, 413, strings.Repeat("too much ", 10_000))
	}), nil)
	item := testkit.Item("q", 0)
	item.Asks = "site: S1"
	r.publish(item)
	h, _ := r.result(0)
	contains(t, h.Failure.Message, "nothing in it can be divided: site: S1")
}
