package resume_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func firstRows(n int64) resume.Limits {
	l := limits(16)
	l.MaxRows = n
	return l
}

func some(p messages.Position, n int64) *messages.ResultHeader {
	h := rows(1, p)
	h.Rows, h.Attempt = n, "of "+string(p)
	if n == 0 {
		h.Outcome = messages.OutcomeEmpty
	}
	return h
}

func TestTheFirstRowsAreAskedForInOrderAndNoMore(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, firstRows(25))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 1, Rows: 25})
	r.Dispatched("0")
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(some("0", 10))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 1, Rows: 15})
	r.Dispatched("1")
	r.Result(split(1, "1"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Children: []messages.Position{"1.0"}, Rows: 15})
	r.Dispatched("1.0")
	r.Result(some("1.0", 0))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Children: []messages.Position{"1.1"}, Rows: 15})
	r.Dispatched("1.1")
	r.Result(some("1.1", 20))
	if !r.Enough() {
		t.Error("30 rows are not enough")
	}
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Complete})
}

func TestFewerRowsThanWantedAreCompleteAtThePlansEnd(t *testing.T) {
	r := resume.NewRun("q1", 1, 2, firstRows(25))
	r.Result(some("0", 10))
	r.Result(some("1", 10))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Complete})
}

func TestWhatStandsBehindALostResultIsDiscarded(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, firstRows(25))
	for _, h := range []*messages.ResultHeader{some("0", 10), split(1, "1"), some("1.0", 5), some("1.1", 20)} {
		r.Result(h)
	}
	r.Lost("0")
	if r.Enough() {
		t.Error("it is enough without the first rows")
	}
	behind := []resume.Discarded{{Position: "1"}, {Position: "1.0", Attempt: "of 1.0"}, {Position: "1.1", Attempt: "of 1.1"}}
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Discard, Discard: behind})
	for _, d := range behind {
		r.Lost(d.Position)
	}
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 1, Rows: 25})
}

func TestAResultThatChangesIsCountedAnew(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, firstRows(25))
	r.Result(some("0", 10))
	r.Result(some("1", 20))
	if !r.Enough() {
		t.Error("30 rows are not enough")
	}
	r.Result(some("0", 2)) // another one was stored in the place of the first, which was removed
	if r.Enough() {
		t.Error("22 rows are enough for 25")
	}
}

func TestAFailureBehindTheFirstRowsDoesNotSpeak(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, firstRows(25))
	r.Result(some("0", 10))
	r.Result(failed(1, "2", "bad_request"))
	if action := r.Next(at(0), false, false); action.Kind != resume.Discard {
		t.Errorf("%+v", action)
	}
	r.Lost("2")
	r.Dispatched("1")
	r.Result(failed(1, "1", "bad_request"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("1", "bad_request")})
}

// Whatever is interrupted, lost and taken over: the rows at the plan's beginning are there in the end, without a gap, and
// nothing is ever asked for but the first chunk that lacks.
func TestTheFirstRowsAreThereWithoutAGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			T: t, total: rapid.IntRange(1, 6).Draw(t, "chunks"), now: at(0),
			splits: map[messages.Position]bool{}, results: map[messages.Position]*messages.ResultHeader{}, losses: 5,
		}
		for _, p := range positions(w.total) {
			w.grow(p)
		}
		truth := map[messages.Position]int64{}
		leaves := slices.DeleteFunc(slices.Clone(w.all), func(p messages.Position) bool { return w.splits[p] })
		for _, p := range leaves {
			truth[p] = rapid.Int64Range(0, 12).Draw(t, "rows of "+string(p))
		}
		wanted := rapid.Int64Range(1, 60).Draw(t, "max_rows")
		run := resume.NewRun("q1", 1, w.total, firstRows(wanted))
		w.at = 0
		for range 10_000 {
			action := run.Next(w.now, w.at == w.total, false)
			switch action.Kind {
			case resume.Settle:
				checkFirstRows(w, leaves, truth, wanted)
				return
			case resume.Rewind:
				w.at = 0
			case resume.Discard:
				for _, d := range action.Discard {
					if w.results[d.Position].Attempt != d.Attempt {
						t.Fatalf("%+v is discarded, and it is %+v", d, w.results[d.Position])
					}
					delete(w.results, d.Position)
					run.Lost(d.Position)
				}
			case resume.Dispatch:
				p := w.nextOne(run, action)
				ends := []string{"done", "done", "done", "handed back", "taken over", "lost"}
				switch rapid.SampledFrom(ends).Draw(t, "end") {
				case "handed back":
					run.Interruption(interrupted(1, p, messages.HandedBack, at(0)), w.now)
					continue
				case "taken over":
					w.finish(p, action.Rows, truth)
					run = resume.NewRun("q1", 1, w.total, firstRows(wanted))
					w.at = 0
					for _, p := range rapid.Permutation(w.all).Draw(t, "replay") {
						if h := w.results[p]; h != nil {
							run.Result(h)
						}
					}
				case "lost":
					run.Result(w.finish(p, action.Rows, truth))
					if p := rapid.SampledFrom(w.all).Draw(t, "lost"); w.results[p] != nil && w.losses > 0 {
						w.losses--
						delete(w.results, p)
						run.Lost(p)
						// What the service has may have changed meanwhile.
						if _, leaf := truth[p]; leaf {
							truth[p] = rapid.Int64Range(0, 12).Draw(t, "rows now")
						}
					}
				default:
					run.Result(w.finish(p, action.Rows, truth))
				}
			default:
				t.Fatalf("%+v, with nothing outstanding", action)
			}
		}
		t.Fatal("it does not end")
	})
}

// nextOne carries out a dispatch of one position, and checks that it is the first that lacks.
func (w *world) nextOne(run *resume.Run, action resume.Action) messages.Position {
	var p messages.Position
	switch {
	case len(action.Children) == 1 && action.Count == 0:
		p = action.Children[0]
	case len(action.Children) == 0 && action.Count == 1:
		for run.Decided(messages.PositionAt(w.at)) {
			w.at++
		}
		p = messages.PositionAt(w.at)
		w.at++
	default:
		w.Fatalf("%+v", action)
	}
	for _, q := range w.all {
		if q.Compare(p) < 0 && w.results[q] == nil || q.Compare(p) >= 0 && w.results[q] != nil {
			w.Fatalf("%s is dispatched, and the result of %s is %+v", p, q, w.results[q])
		}
	}
	run.Dispatched(p)
	return p
}

// finish is the worker's part: it ends its walk over the pages when it has the rows that are wanted.
func (w *world) finish(p messages.Position, wanted int64, truth map[messages.Position]int64) *messages.ResultHeader {
	h := split(1, p)
	if !w.splits[p] {
		h = some(p, min(truth[p], (wanted+2)/3*3)) // pages of three rows
	}
	w.number++
	h.Attempt = strconv.Itoa(w.number)
	w.results[p] = h
	return h
}

func checkFirstRows(w *world, leaves []messages.Position, truth map[messages.Position]int64, wanted int64) {
	var have int64
	for _, p := range leaves {
		if have >= wanted {
			return
		}
		h := w.results[p]
		if h == nil {
			w.Fatalf("it is complete with %d of %d rows, and %s has no result", have, wanted, p)
		}
		if h.Rows < truth[p] && have+h.Rows < wanted {
			w.Fatalf("%s has %d rows of %d, and what stands before it %d of %d", p, h.Rows, truth[p], have, wanted)
		}
		have += h.Rows
	}
}
