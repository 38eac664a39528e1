package resume

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Trip tells the run that a breaker closes its intake, because of stop. The first trip stands, and a recorded one is the first.
func (r *Run) Trip(stop *messages.Stop, now time.Time) {
	if r.tripped == nil {
		r.tripped = stop
	}
	if r.stoppedAt.IsZero() {
		r.stoppedAt = now
	}
}

// ending is how a run ends that stops before all is done.
func (r *Run) ending(failure *messages.Stop) Action {
	ofFailures := r.tripped != nil && r.tripped.Class != ""
	switch {
	case failure != nil && ofFailures && failure.Class != ClassAuth:
		return Action{Kind: Settle, State: messages.Failed, Stop: r.tripped}
	case failure != nil:
		return Action{Kind: Settle, State: messages.Failed, Stop: failure}
	case r.tripped == nil:
		return Action{Kind: Settle, State: messages.Interrupted, Stop: r.stop}
	case r.stop == nil:
		return Action{Kind: Settle, State: messages.Interrupted, Stop: r.tripped}
	case r.stop.Kind == string(messages.QuotaExhausted): // it alone names a time
		return Action{Kind: Settle, State: messages.Interrupted, Stop: r.stop}
	}
	stop := *r.tripped
	stop.Until = later(stop.Until, r.stop.Until)
	return Action{Kind: Settle, State: messages.Interrupted, Stop: &stop}
}
