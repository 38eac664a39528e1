package resume

// Demand is how many positions could be with the workers now, were the window without end: those that are, and those that may be
// dispatched. A run that stops, or waits for one position before the next, demands little however much is left of its plan.
// exhausted is Next's.
func (r *Run) Demand(exhausted bool) int {
	out := len(r.outstanding)
	more := r.dispatchable(exhausted || r.ahead() == 0)
	if r.limits.Budgeted {
		more = int(min(int64(more), max(0, r.unallotted())))
	}
	return out + more
}

func (r *Run) dispatchable(exhausted bool) int {
	failure := r.failure()
	switch {
	case r.Enough() || r.stopped(failure):
		return 0
	case r.first != nil:
		return max(0, 1-len(r.outstanding))
	case r.only != nil:
		r.refillOnly()
		return r.children.len()
	case failure != nil && !r.limits.Finish:
		_, children, ahead := r.undecided(failure.Position) // as far as the failure
		if exhausted {
			ahead = 0
		}
		return children + ahead
	case exhausted:
		return r.children.len()
	}
	return r.children.len() + r.ahead()
}

// ahead is how many of the plan's positions behind the cursor are undecided. With none of them the plan is exhausted, though whoever walks
// over it may not know yet, and has no room to find out. Where there are more than failures they are not told from these, of which
// there may be many.
func (r *Run) ahead() int {
	n := r.total - r.cursor - (r.done.Before(r.total) - r.done.Before(r.cursor))
	if n > len(r.failed.at) {
		return n
	}
	for p := range r.failed.at {
		if !p.IsChild() && p.Index() >= r.cursor && p.Index() < r.total && r.done.of(p) == noResult {
			n--
		}
	}
	return max(0, n)
}

// SetWindow changes how many positions may be with the workers, 0 or more. What is there already beyond it comes back in its time.
func (r *Run) SetWindow(n int) { r.limits.Window = n }
