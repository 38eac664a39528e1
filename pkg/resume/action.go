package resume

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Kind tells which action is to be taken.
type Kind int

// The actions.
const (
	Wait     Kind = iota // for the streams, at most until Action.At when that is set
	Dispatch             // Action.Children (and positions of the plan that a run is limited to), then up to Action.Count of the plan's next positions that are neither decided nor outstanding
	Rewind               // go over the plan again from its first position: something came back without a result
	Discard              // remove Action.Discard, and tell the run that they are lost
	Stop                 // write Stopping with Action.Stop into the record, so that workers hand back what they have not started
	Settle               // take back what is queued and write Action.State with Action.Stop; the run is over
)

// Action is what is to be done next.
type Action struct {
	Kind      Kind
	Children  []messages.Position // of split chunks, in order
	Count     int
	Allowance int   // requests that each item of what is dispatched may send; 0: any number
	Rows      int64 // of what is dispatched, after which it may end; 0: all
	Discard   []Discarded
	At        time.Time
	State     messages.QueryState
	Stop      *messages.Stop
}

// Next decides. exhausted tells that all positions of the plan have been dispatched or skipped; recorded that the query's
// record says Stopping already. What it says holds until the run is told something.
func (r *Run) Next(now time.Time, exhausted, recorded bool) Action {
	cursor := r.cursor
	action := r.within(r.next(now, exhausted || r.ahead() == 0, recorded))
	if action.Kind != Rewind {
		r.cursor = cursor // nothing is gone over again
	}
	return action
}

func (r *Run) next(now time.Time, exhausted, recorded bool) Action {
	failure := r.failure()
	drained := len(r.outstanding) == 0
	stopping := r.stopped(failure)
	switch {
	case r.Enough():
		return Action{Kind: Settle, State: messages.Complete}
	case stopping && !recorded:
		return Action{Kind: Stop, Stop: r.ending(failure).Stop}
	case stopping && !drained && now.Before(r.drainUntil(now)):
		return Action{Kind: Wait, At: r.drainUntil(now)}
	case stopping:
		return r.ending(failure)
	case r.first != nil:
		return r.nextInOrder(failure)
	case r.only != nil:
		return r.nextOnly(failure)
	case failure != nil && !r.limits.Finish:
		return r.settleFailed(failure, exhausted)
	case exhausted && drained && r.children.len() == 0 && failure != nil && !r.owes():
		return Action{Kind: Settle, State: messages.Failed, Stop: failure}
	case exhausted && drained && r.children.len() == 0:
		return r.rewind()
	case exhausted:
		return r.dispatch(r.children.len(), 0)
	}
	return r.dispatch(r.children.len(), r.limits.Window)
}

// stopped tells whether nothing more is to be begun, whatever may be left.
func (r *Run) stopped(failure *messages.Stop) bool {
	return r.stop != nil || r.tripped != nil || failure != nil && failure.Class == ClassAuth
}

// dispatch takes children of split chunks before the plan's next positions, both as far as the window has room.
func (r *Run) dispatch(children, next int) Action {
	free := r.limits.Window - len(r.outstanding)
	children = max(0, min(children, free))
	next = max(0, min(next, free-children))
	if children+next == 0 {
		return Action{Kind: Wait}
	}
	return Action{Kind: Dispatch, Children: r.children.lowest(children), Count: next}
}

// nextInOrder takes one position at a time, so that nothing is asked for that is not needed: always the first that has no
// rows. Whatever else there is, it is behind that one.
func (r *Run) nextInOrder(failure *messages.Stop) Action {
	p := r.first.at
	switch {
	case len(r.outstanding) > 0:
		return Action{Kind: Wait}
	case failure != nil && failure.Position.Compare(p) <= 0:
		return Action{Kind: Settle, State: messages.Failed, Stop: failure}
	}
	if behind := r.first.behind(); len(behind) > 0 {
		return Action{Kind: Discard, Discard: behind}
	}
	wanted := r.limits.MaxRows - r.first.rows
	switch {
	case r.limits.Window < 1:
		return Action{Kind: Wait}
	case p.IsChild():
		return Action{Kind: Dispatch, Children: []messages.Position{p}, Rows: wanted}
	case p.Index() < r.cursor:
		return r.rewind()
	}
	return Action{Kind: Dispatch, Count: 1, Rows: wanted}
}

// settleFailed ends the run when every position below the failure is decided. Those that came back without a result, or
// whose items a coordinator before this one may have lost, are run first: one of them may fail too, and then it speaks.
func (r *Run) settleFailed(failure *messages.Stop, exhausted bool) Action {
	behind, children, ahead := r.undecided(failure.Position)
	if exhausted {
		behind, ahead = behind+ahead, 0
	}
	if action := r.dispatch(children, ahead); action.Kind == Dispatch {
		return action
	}
	switch {
	case len(r.outstanding) > 0 || children+ahead > 0: // there may be no room for them now
		return Action{Kind: Wait}
	case behind > 0:
		return r.rewind()
	}
	return Action{Kind: Settle, State: messages.Failed, Stop: failure}
}

// rewind makes all that came back without a result due again.
func (r *Run) rewind() Action {
	r.cursor = 0
	for child := range r.done.missing {
		if !r.Decided(child) && !r.Outstanding(child) && !r.belowFailure(child) {
			r.children.add(child)
		}
	}
	return Action{Kind: Rewind}
}

func (r *Run) drainUntil(now time.Time) time.Time {
	if r.stoppedAt.IsZero() {
		r.stoppedAt = now
	}
	return r.stoppedAt.Add(r.limits.DrainFor)
}
