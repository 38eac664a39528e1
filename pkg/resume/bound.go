package resume

import "github.com/braidhq/braid/pkg/messages"

// Bound is the lowest position that has failed when the run stops at failures: what stands behind it is not to be begun, not even
// what is queued. What stands before it is run to its end, since it may fail too and then speaks. Empty: there is no bound.
func (r *Run) Bound() messages.Position {
	if r.limits.Finish || r.first != nil || r.only != nil {
		return ""
	}
	return r.failed.find(r.done.Counts)
}
