package loadrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Settle brings all runs to their end that drain. Only a process that has the store for itself may call it, while it runs no worker: nothing
// is in flight then, and what was admitted without a record is recorded as cancelled.
func (c *Controller) Settle(ctx context.Context) error {
	all, err := c.ports.Records.ListRuns(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *load.Run) int { return strings.Compare(a.ID, b.ID) })
	var errs []error
	for _, r := range all {
		if r.State != load.Draining {
			continue
		}
		if err := c.settle(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("load run %s: %w", r.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) settle(ctx context.Context, r *load.Run) error {
	last, err := lastSign(ctx, c.ports.Records, r.ID, r.Closed)
	if err != nil {
		return err
	}
	settling := *c
	settling.left = last
	for {
		r, revision, err := c.ports.Records.LoadRun(ctx, r.ID)
		if errors.Is(err, messages.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.State != load.Draining {
			return nil
		}
		s, err := settling.drain(ctx, seen{r.ID, r, revision}, make(chan seen))
		if hopeless(err) {
			_, err = settling.giveUp(ctx, s, err)
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// lastSign is when a run was last heard of, no sooner than at the time that is given.
func lastSign(ctx context.Context, records Records, run string, at time.Time) (time.Time, error) {
	p, err := records.LoadRunProgress(ctx, run)
	switch {
	case errors.Is(err, messages.ErrNotFound):
	case err != nil:
		return at, fmt.Errorf("progress: %w", err)
	case p.Updated.After(at):
		at = p.Updated
	}
	return at, nil
}
