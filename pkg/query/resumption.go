package query

import (
	"fmt"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Resumption is what changes for a query that is resumed. Nil members leave what there was.
type Resumption struct {
	WaitUpTo    *time.Duration     // the longest pause that the coordinator waits out by itself
	MaxRequests *int64             // the budget of requests; nil: a new one of the old size
	HoldBack    *int64             // requests of each quota that are left for others; 0: none
	OnFailure   OnFailure          // what becomes of the other chunks when one has failed; empty: as before
	InFlight    *messages.InFlight // requests in flight at a time that it asks for
	Priority    *int               // among the queries of its service
	Weight      *int               // of its share among those of its priority
}

// Validate reports the first member that is out of bounds.
func (r *Resumption) Validate() error {
	if r.MaxRequests != nil {
		if err := CheckBound(*r.MaxRequests, MaxRequests); err != nil {
			return fmt.Errorf("max_requests: %w", err)
		}
	}
	if r.HoldBack != nil {
		if err := CheckHoldBack(*r.HoldBack); err != nil {
			return fmt.Errorf("hold_back: %w", err)
		}
	}
	if err := r.OnFailure.Check(); err != nil && r.OnFailure != "" {
		return fmt.Errorf("on_failure: %w", err)
	}
	if r.InFlight != nil {
		err := r.InFlight.Check()
		if *r.InFlight == 0 {
			err = messages.ErrInFlight // what is given is not left out
		}
		if err != nil {
			return fmt.Errorf("in_flight: %w", err)
		}
	}
	var rank messages.Rank
	if r.Priority != nil {
		rank.Priority = *r.Priority
	}
	if err := rank.Check(); err != nil {
		return err
	}
	if r.Weight != nil {
		return messages.CheckWeight(*r.Weight)
	}
	return nil
}

// CheckHoldBack checks what is given anew; 0 holds nothing back, whatever was said before.
func CheckHoldBack(units int64) error {
	if units < 0 || units > MaxRequests {
		return fmt.Errorf("%d is out of bounds, want 0 to %d", units, int64(MaxRequests))
	}
	return nil
}

// Check refuses a word that is no rule.
func (o OnFailure) Check() error {
	if !slices.Contains(o.Choices(), string(o)) {
		return fmt.Errorf("%.20q is none of stop, finish", string(o))
	}
	return nil
}
