package coordinator

import (
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// ResumeOptions of a resume.
type ResumeOptions query.Resumption

// applyTo makes the record that of a further run.
func (o *ResumeOptions) applyTo(q *messages.Query) {
	o.applyWhileRunning(q)
	if o.MaxRequests != nil {
		q.MaxRequests = *o.MaxRequests
	}
	if o.HoldBack != nil {
		q.HoldBack = o.HoldBack
	}
	if o.OnFailure != "" {
		q.OnFailure = string(o.OnFailure)
	}
	q.BudgetSpent = 0
}

// applyWhileRunning changes what may change while the query runs; its budget is the one that the run began with. It tells whether anything did.
func (o *ResumeOptions) applyWhileRunning(q *messages.Query) (changed bool) {
	if o == nil {
		return false
	}
	before := *q
	if o.WaitUpTo != nil {
		q.WaitUpTo = *o.WaitUpTo
	}
	if o.InFlight != nil {
		q.InFlight = *o.InFlight
	}
	if o.Priority != nil {
		q.Priority = *o.Priority
	}
	if o.Weight != nil {
		q.Weight = query.Run{Weight: *o.Weight}.Rank().Weight
	}
	return q.WaitUpTo != before.WaitUpTo || q.InFlight != before.InFlight || q.Rank != before.Rank
}

// check refuses what is out of bounds; the error wraps query.ErrInvalid.
func (o *ResumeOptions) check() error {
	if err := (*query.Resumption)(o).Validate(); err != nil {
		return fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	return nil
}
