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
	Dispatch             // up to Action.Count of the next positions that are neither decided nor outstanding
	Rewind               // go over the plan again from its first position: something came back without a result
	Stop                 // write Stopping with Action.Stop into the record, so that workers hand back what they have not started
	Settle               // take back what is queued and write Action.State with Action.Stop; the run is over
)

// Action is what is to be done next.
type Action struct {
	Kind  Kind
	Count int
	At    time.Time
	State messages.QueryState
	Stop  *messages.Stop
}

// Next decides. exhausted tells that all positions of the plan have been dispatched or skipped; recorded that the query's
// record says Stopping already.
func (r *Run) Next(now time.Time, exhausted, recorded bool) Action {
	failure := r.failure()
	drained := len(r.outstanding) == 0
	stopping := r.stop != nil || failure != nil && failure.Class == ClassAuth
	switch {
	case r.done.Roots() == r.total:
		return Action{Kind: Settle, State: messages.Complete}
	case stopping && !recorded:
		return Action{Kind: Stop, Stop: r.reason(failure)}
	case stopping && !drained && now.Before(r.drainUntil(now)):
		return Action{Kind: Wait, At: r.drainUntil(now)}
	case stopping && failure != nil:
		return Action{Kind: Settle, State: messages.Failed, Stop: failure}
	case stopping:
		return Action{Kind: Settle, State: messages.Interrupted, Stop: r.stop}
	case failure != nil:
		return r.settleFailed(failure, exhausted)
	case exhausted && drained:
		return r.rewind()
	case exhausted || len(r.outstanding) >= r.limits.Window:
		return Action{Kind: Wait}
	}
	return Action{Kind: Dispatch, Count: r.limits.Window - len(r.outstanding)}
}

// settleFailed ends the run when every position below the failure is decided. Those that came back without a result, or
// whose items a coordinator before this one may have lost, are run first: one of them may fail too, and then it speaks.
func (r *Run) settleFailed(failure *messages.Stop, exhausted bool) Action {
	behind, ahead := r.undecided(failure.Position.Index())
	free := r.limits.Window - len(r.outstanding)
	switch {
	case ahead > 0 && !exhausted && free > 0:
		return Action{Kind: Dispatch, Count: min(ahead, free)}
	case len(r.outstanding) > 0:
		return Action{Kind: Wait}
	case behind+ahead > 0:
		return r.rewind()
	}
	return Action{Kind: Settle, State: messages.Failed, Stop: failure}
}

func (r *Run) rewind() Action {
	r.cursor = 0
	return Action{Kind: Rewind}
}

func (r *Run) drainUntil(now time.Time) time.Time {
	if r.stoppedAt.IsZero() {
		r.stoppedAt = now
	}
	return r.stoppedAt.Add(r.limits.DrainFor)
}

func (r *Run) reason(failure *messages.Stop) *messages.Stop {
	if failure != nil {
		return failure
	}
	return r.stop
}

// failure is the one of the lowest position.
func (r *Run) failure() *messages.Stop {
	var lowest messages.Position
	for p := range r.failed {
		if lowest == "" || p.Compare(lowest) < 0 {
			lowest = p
		}
	}
	if lowest == "" {
		return nil
	}
	f := r.failed[lowest]
	return &messages.Stop{
		Kind: messages.StopFailure, Position: lowest, Status: f.Status, Class: f.Class, Reason: f.Message, Hint: f.Hint,
	}
}
