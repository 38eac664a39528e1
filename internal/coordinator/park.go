package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
)

// Park marks as interrupted what a process that has ended left running or waiting, so that nothing goes on without being
// asked for. Only a process that has the store for itself may call it.
func (c *Coordinator) Park(ctx context.Context) error {
	all, err := c.ports.Catalogue.ListQueries(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, q := range all {
		if err := c.park(ctx, q); err != nil {
			errs = append(errs, fmt.Errorf("query %s: %w", q.ID, err))
		}
	}
	if err := c.FindLost(ctx); err != nil {
		errs = append(errs, fmt.Errorf("look for lost results: %w", err))
	}
	return errors.Join(errs...)
}

func (c *Coordinator) park(ctx context.Context, q *messages.Query) error {
	killed := q.State.Active()
	if killed {
		if err := c.Interrupt(ctx, q.ID, "the process that ran it ended"); err != nil {
			return err
		}
	}
	now, revision, err := c.ports.Queries.LoadQuery(ctx, q.ID)
	if err != nil {
		return err
	}
	stale, err := c.stale(ctx, now)
	if err != nil {
		return err
	}
	// One that was interrupted, and whose process did not come to count, did not end as it was asked to either.
	killed = killed || stale && now.Stop != nil && now.Stop.Kind == messages.StopDrained
	if killed || now.ResumesByItself() {
		if now.ResumesByItself() {
			now.WaitUpTo = 0
		}
		now.Killed, now.Updated = now.Killed || killed, c.ports.Now()
		_, err = c.ports.Queries.SaveQuery(ctx, now, revision)
		if errors.Is(err, messages.ErrConflict) {
			return nil // somebody did something with it just now
		}
		if err != nil {
			return err
		}
	}
	if killed || stale {
		c.recount(ctx, now) // the last that was noted may be seconds older than the end
	}
	return nil
}

// stale tells whether a query that stopped has a progress record from before that: whoever ran it did not come to count at the end.
func (c *Coordinator) stale(ctx context.Context, q *messages.Query) (bool, error) {
	if q.State != messages.Interrupted {
		return false, nil
	}
	p, err := c.ports.Catalogue.LoadProgress(ctx, q.ID)
	if errors.Is(err, messages.ErrNotFound) {
		return true, nil
	}
	return err == nil && p.Updated.Before(q.Updated), err
}
