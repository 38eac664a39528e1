package load

import (
	"cmp"
	"slices"
	"time"
)

// mostGaps bounds how many lost attempts are remembered by their times.
const mostGaps = 10_000

// repeats are the executions that were sent again, as the attempt before had no record: its worker was lost, or fell silent.
type repeats struct {
	again int
	open  map[int]time.Time // by number: when the last attempt was admitted, as long as it has no record
	gaps  []gap
}

// gap is the time from the admission of an attempt that was lost to that of the next one. What held its place in between is in no number.
type gap struct{ from, to time.Time }

// admission is told of the next admission, and of the greatest attempts of its number that were admitted and recorded before it.
func (r *repeats) admission(a *Admission, admitted, recorded uint8) {
	attempt := attemptOf(a.Attempt)
	if admitted > 0 && attempt > admitted {
		r.again++
		if from, lost := r.open[a.Number]; lost && recorded == 0 && a.At.After(from) && len(r.gaps) < mostGaps {
			r.gaps = append(r.gaps, gap{from, a.At})
		}
	}
	if r.open == nil {
		r.open = map[int]time.Time{}
	}
	if attempt > recorded && attempt >= admitted {
		r.open[a.Number] = a.At
	}
}

func (r *repeats) execution(e *Execution) { delete(r.open, e.Number) }

// below gives for how long places held what is in no number, and how many at once at most. Both are upper bounds: an attempt may have been
// lost at any time behind its admission, and its place be given to another execution before it is itself sent again.
func (r *repeats) below() (lasted time.Duration, places int) {
	type edge struct {
		at   time.Time
		step int
	}
	edges := make([]edge, 0, 2*len(r.gaps))
	for _, g := range r.gaps {
		edges = append(edges, edge{g.from, 1}, edge{g.to, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), a.step-b.step) })
	now := 0
	var since time.Time
	for _, e := range edges {
		if now == 0 {
			since = e.at
		}
		now += e.step
		places = max(places, now)
		if now == 0 {
			lasted += e.at.Sub(since)
		}
	}
	return lasted, places
}
