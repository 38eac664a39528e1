package planner

import (
	"container/heap"
	"fmt"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// windows are pieces of an interval, in order. Every step of the interval (a day, a month, a year or a second, as its ends are
// written) is in exactly one of them; with a shared boundary the step in which two windows meet is in both.
type windows struct {
	rule   service.Window
	unit   service.Unit
	starts []int64 // Unix seconds at which each window begins
	behind int64   // the first step behind the last window; of an open interval: behind now
	first  string  // the interval's ends as they were written
	last   string
}

func (w *windows) len() int { return len(w.starts) }

// piece gives the ends of a window.
func (w *windows) piece(i int) []string {
	from, to := w.first, w.last
	if i > 0 {
		from = w.unit.Write(at(w.starts[i]))
	}
	if i < len(w.starts)-1 {
		end := at(w.starts[i+1])
		if w.rule.Boundary != service.BoundaryShared {
			end = stepped(w.unit, end, -1)
		}
		to = w.unit.Write(end)
	}
	return []string{from, to}
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// open gives the interval of a parameter as one window. ok is false when it has no parts: then it is asked for as it is; w is nil
// where it has no beginning or only the service can read it.
func open(params parameters, rule service.Axis, values []string, now time.Time) (w *windows, ok bool) {
	interval, err := service.ParseInterval(params.named(rule.Params[0]).Of, values)
	if err != nil || interval.From.IsZero() || interval.Unit == service.UnitDuration {
		return nil, false
	}
	ends := interval.Values()
	if len(values) == len(ends) {
		ends = values
	}
	w = &windows{rule: rule.Window, unit: interval.Unit, first: ends[0], last: ends[len(ends)-1]}
	from, behind := interval.From.UTC(), interval.Behind.UTC()
	switch {
	case interval.Single:
		return w, false
	case interval.Behind.IsZero():
		// The last window stays open. What is now is part of it.
		if behind = stepped(w.unit, floored(w.unit, now.UTC()), 1); !behind.After(from) {
			behind = stepped(w.unit, floored(w.unit, from), 1)
		}
	case w.unit == service.UnitTimestamp:
		behind = stepped(w.unit, behind, 1) // its last instant is given, and is in it
	}
	w.starts, w.behind = []int64{from.Unix()}, behind.Unix()
	return w, true
}

// divide cuts the interval into windows that are as long as the span allows. Where the rule aligns, each ends at the last
// aligned instant in its span, so that all but the first begin at one. It stops when there are more than limit.
func (w *windows) divide(limit int) {
	for start := floored(w.unit, at(w.starts[0])); len(w.starts) <= limit; {
		next := spanned(w.rule.Span, start)
		if cut := aligned(w.rule.Align, next); cut.After(start) {
			next = cut
		}
		// A step is never divided, though a span may be shorter.
		if next = floored(w.unit, next); !next.After(start) {
			next = stepped(w.unit, start, 1)
		}
		if next.Unix() >= w.behind || w.unit == service.UnitTimestamp && next.Unix() == w.behind-1 {
			return // the last window ends before, or at the instant at which one more would begin
		}
		w.starts = append(w.starts, next.Unix())
		start = next
	}
}

// middle is where a window divides: at the aligned instant that is nearest to its middle, else at the step there. ok is
// false when both sides could not be shorter than the window.
func (w *windows) middle(start, behind int64) (middle int64, ok bool) {
	from := floored(w.unit, at(start))
	n := steps(w.unit, from, at(behind))
	end := at(behind)
	if w.rule.Boundary == service.BoundaryShared {
		n-- // the step in the middle is on both sides
		end = stepped(w.unit, end, -1)
	}
	if n < 2 {
		return 0, false
	}
	half := stepped(w.unit, from, (n+1)/2)
	best, found := half, false
	for _, cut := range []time.Time{aligned(w.rule.Align, half), following(w.rule.Align, half)} {
		inside := cut.After(from) && cut.Before(end) && floored(w.unit, cut).Equal(cut)
		if inside && (!found || distance(cut, half) < distance(best, half)) {
			best, found = cut, true
		}
	}
	return best.Unix(), true
}

// pieces are the windows in seconds, the longest first.
func (w *windows) pieces() *pieces {
	p := &pieces{least: 1}
	p.rank = func(start, end int) int {
		if _, ok := w.middle(int64(start), int64(end)); !ok {
			return -1
		}
		return end - start
	}
	p.middle = func(start, end int) int {
		middle, _ := w.middle(int64(start), int64(end))
		return int(middle)
	}
	for i := range w.starts {
		p.spans = append(p.spans, p.span(int(w.starts[i]), int(w.end(i))))
	}
	heap.Init(p)
	return p
}

// end is the first second behind a window.
func (w *windows) end(i int) int64 {
	if i == len(w.starts)-1 {
		return w.behind
	}
	return w.starts[i+1]
}

// longest gives the longest window.
func (w *windows) longest() int {
	best := 0
	for i := range w.starts {
		if w.end(i)-w.starts[i] > w.end(best)-w.starts[best] {
			best = i
		}
	}
	return best
}

func distance(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

// isDuration tells whether an interval is a length of time up to now, such as P7D.
func isDuration(values []string) bool {
	return len(values) == 1 && strings.HasPrefix(strings.ToUpper(values[0]), "P") && !strings.Contains(values[0], "/")
}

// openWindow is the error of an interval that has a span and no ends to divide between.
func openWindow(param string, values []string) error {
	message := fmt.Sprintf("the service takes a limited span of it in one request, and %.60q has no beginning to count from; give the day or time at which it begins",
		values[0])
	return &service.ValueError{Parameter: param, Message: message, Err: service.ErrInvalidValue}
}
