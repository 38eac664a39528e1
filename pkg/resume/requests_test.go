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
	r.Sent(&messages.Progress{Requests: 10}, false)
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

func TestRequestsOfWhatIsGoneStayCounted(t *testing.T) {
	with := func(h *messages.ResultHeader, requests int) *messages.ResultHeader {
		h.Requests = requests
		return h
	}
	r := begun(2, 3, 3)
	r.Sent(&messages.Progress{Requests: 20, RequestsGone: 5}, false)
	requests := func(want, gone int64) {
		t.Helper()
		if p := r.Progress(at(0)); p.Requests != want || p.RequestsGone != gone {
			t.Errorf("%d requests, %d of them gone; want %d and %d", p.Requests, p.RequestsGone, want, gone)
		}
	}
	r.Result(with(rows(1, "0"), 4))
	failure := with(failed(1, "1", "bad_request"), 2)
	if r.Result(failure) {
		t.Fatal("a failure of an earlier run is kept")
	}
	requests(20, 5)
	if !r.Unaccounted() {
		t.Error("6 are told of, 5 were gone, 20 were sent: and all is accounted for")
	}
	r.Page(page("a", "2", 6))
	r.Accounted()
	requests(20, 8) // 3 more were of a result that was lost
	r.Removed(failure)
	requests(20, 10)
	r.Result(with(rows(2, "1"), 2))
	requests(22, 10)
	r.Result(with(rows(2, "2"), 7)) // one more page behind those that were stored
	requests(23, 10)
	if r.Unaccounted() {
		t.Error("all is accounted for")
	}

	next := begun(3, 3, 3) // another coordinator, with the record of this one
	next.Sent(r.Progress(at(0)), false)
	next.Result(with(rows(1, "0"), 4))
	next.Result(with(rows(2, "1"), 2))
	next.Result(with(rows(2, "2"), 7))
	next.Accounted()
	if p := next.Progress(at(0)); p.Requests != 23 || p.RequestsGone != 10 {
		t.Errorf("the next coordinator counts %d, %d of them gone", p.Requests, p.RequestsGone)
	}
}
