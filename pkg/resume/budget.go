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

// settle books what an item has sent.
func (r *Run) settle(p messages.Position, sent int) {
	r.spent += int64(sent)
	delete(r.allowed, p)
}

// within keeps an action within the budget. Each item costs one request at least; with none left the run waits for those under
// way, which may give some back, and then stops.
func (r *Run) within(a Action) Action {
	if !r.limits.Budgeted || a.Kind != Dispatch && a.Kind != Rewind {
		return a
	}
	left := r.unallotted()
	switch {
	case left < 1 && len(r.outstanding) > 0:
		return Action{Kind: Wait}
	case left < 1:
		return Action{Kind: Settle, State: messages.Interrupted, Stop: r.budgetStop()}
	case a.Kind == Rewind:
		return a
	}
	a.Children = a.Children[:min(int64(len(a.Children)), left)]
	a.Count = int(min(int64(a.Count), left-int64(len(a.Children))))
	items := int64(len(a.Children) + a.Count)
	sharing := max(items, min(int64(r.limits.Window), int64(r.total-r.done.Roots())), 1)
	a.Allowance = int(max(1, min(mostAllowed, left/sharing)))
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

func (r *Run) budgetStop() *messages.Stop {
	return &messages.Stop{
		Kind: messages.StopBudget, Reason: fmt.Sprintf("the requests that the query may send are sent: %d since it was resumed or begun", r.spent),
		Hint: "resume it with a new budget: --max-requests N",
	}
}
