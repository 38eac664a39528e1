package resume_test

import (
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

func page(walk string, p messages.Position, requests int) *messages.Page {
	return &messages.Page{Walk: walk, Position: p, Requests: requests}
}

func TestRequestsOfPagesCountUntilAResultTellsOfThem(t *testing.T) {
	r := begun(2, 3, 3)
	r.Page(page("a", "0", 2))
	r.Page(page("a", "0", 0)) // of a Braid that did not write it: one at least
	r.Page(page("b", "1", 4))
	ended := page("b", "1", 0)
	ended.Ended = true
	r.Page(ended)
	requests := func(want int64) {
		t.Helper()
		if got := r.Progress(at(0)).Requests; got != want {
			t.Errorf("%d requests, want %d", got, want)
		}
	}
	requests(3)
	r.Result(failed(2, "0", "auth"))
	requests(4)
	r.Result(rows(2, "0"))
	requests(1 + 3)
	r.Sent(10, false)
	requests(10)
	if r.Progress(at(0)).AtLeast {
		t.Error("at least, although everything is counted")
	}
	r.Result(failed(1, "2", "bad_request"))
	uncounted := rows(2, "1")
	uncounted.Uncounted = true
	r.Result(uncounted)
	if !r.Progress(at(0)).AtLeast {
		t.Error("it is not said that requests may be missing")
	}
}
