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
	if err != nil || !killed && !now.ResumesByItself() {
		return err
	}
	if now.ResumesByItself() {
		now.WaitUpTo = 0
	}
	now.Killed, now.Updated = now.Killed || killed, c.ports.Now()
	if _, err = c.ports.Queries.SaveQuery(ctx, now, revision); errors.Is(err, messages.ErrConflict) {
		return nil // somebody did something with it just now
	}
	return err
}
