package resume

import (
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
)

// inScope tells whether the run is of p: of all positions, or of those that it is limited to and what they are split into.
func (r *Run) inScope(p messages.Position) bool {
	if r.only == nil {
		return true
	}
	for ; p != ""; p = p.Parent() {
		if _, wanted := r.only[p]; wanted {
			return true
		}
	}
	return false
}

// nextOnly runs the positions that the run is limited to, all of them to their end, and then settles: what else has no
// result is left for a resume.
func (r *Run) nextOnly(failure *messages.Stop) Action {
	r.refillOnly()
	switch {
	case r.children.len() > 0:
		return r.dispatch(r.children.len(), 0)
	case len(r.outstanding) > 0:
		return Action{Kind: Wait}
	case failure != nil:
		return Action{Kind: Settle, State: messages.Failed, Stop: failure}
	}
	return Action{Kind: Settle, State: messages.Interrupted, Stop: &messages.Stop{
		Kind:   messages.StopRetried,
		Reason: fmt.Sprintf("the chunks that had failed were run again, as was asked; %d others have no result yet", r.done.Lacks(r.total)),
	}}
}

// refillOnly queues again what came back without a result, once all has come back.
func (r *Run) refillOnly() {
	if r.children.len() == 0 && len(r.outstanding) == 0 {
		r.enqueueOnly()
	}
}

// enqueueOnly queues what is still to be run. A position that came from a split that is lost is not: nobody asks for it until
// its parent is split again.
func (r *Run) enqueueOnly() {
	for p := range r.only {
		if p.Index() >= r.total || !r.done.Counts(p) {
			continue
		}
		if r.done.IsSplit(p) {
			r.enqueueBelow(p)
		} else if !r.Decided(p) {
			r.children.add(p)
		}
	}
}
