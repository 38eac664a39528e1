package resume

import (
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
)

// mostAllowed bounds what one item may send before it is given back, so that a budget is not bound up in few items.
const mostAllowed = 256

// Allow tells the run how many requests an item that was dispatched may send.
func (r *Run) Allow(p messages.Position, requests int) {
	if r.Outstanding(p) {
		r.allowed[p] = int64(requests)
	}
}

// Spent is how many requests of the budget this run has sent, as far as items have come back.
func (r *Run) Spent() int64 { return r.spent }

// within keeps an action within the budget. Each item costs one request at least; with none left the run waits for those under
// way, which may give some back, and then stops. It stops without room in the window too: a run that may send nothing has none.
func (r *Run) within(a Action) Action {
	roomless := a.Kind == Wait && len(r.outstanding) == 0
	if !r.limits.Budgeted || a.Kind != Dispatch && a.Kind != Rewind && !roomless {
		return a
	}
	left := r.unallotted()
	switch {
	case roomless && left > 0:
		return a
	case left < 1 && len(r.outstanding) > 0:
		return Action{Kind: Wait}
	case left < 1:
		return Action{Kind: Settle, State: messages.Interrupted, Stop: r.budgetStop()}
	case a.Kind == Rewind:
		return a
	}
	a.Children = a.Children[:min(int64(len(a.Children)), left)]
	if a.Count > 0 { // with nothing ahead whoever walks over the plan is to find its end
		a.Count = min(a.Count, max(1, r.ahead()))
	}
	a.Count = int(min(int64(a.Count), left-int64(len(a.Children))))
	sharing := max(1, len(a.Children)+a.Count, min(r.limits.Window, r.waiting()))
	a.Allowance = int(max(1, min(mostAllowed, left/int64(sharing))))
	return a
}

// unallotted is what no item under way may send.
func (r *Run) unallotted() int64 {
	left := r.limits.MaxRequests - r.spent
	for _, n := range r.allowed {
		left -= n
	}
	return left
}

// waiting is how many positions are to be run, or are under way: so many share what is left of the budget. What is in order goes one
// by one.
func (r *Run) waiting() int {
	switch {
	case r.first != nil:
		return 1
	case r.only != nil:
		return r.children.len() + len(r.outstanding)
	}
	return r.total - r.done.Before(r.total) + len(r.done.missing) - len(r.failed.at)
}

func (r *Run) budgetStop() *messages.Stop {
	return &messages.Stop{
		Kind: messages.StopBudget, Reason: fmt.Sprintf("the requests that the query may send are sent: %d since it was resumed or begun", r.spent),
		Hint: "resume it with a new budget: --max-requests N",
	}
}
