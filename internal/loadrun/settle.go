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
	settling := *c
	settling.alone = true
	var errs []error
	for _, r := range all {
		if r.State != load.Draining {
			continue
		}
		if err := settling.settle(ctx, r.ID); err != nil {
			errs = append(errs, fmt.Errorf("load run %s: %w", r.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) settle(ctx context.Context, run string) error {
	for {
		r, revision, err := c.ports.Records.LoadRun(ctx, run)
		if errors.Is(err, messages.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.State != load.Draining {
			return nil
		}
		s, err := c.drain(ctx, seen{run, r, revision}, make(chan seen))
		if hopeless(err) {
			_, err = c.giveUp(ctx, s, err)
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// lastSign is when a run was last heard of.
func (d *Desk) lastSign(ctx context.Context, r *load.Run) (time.Time, error) {
	last := r.Updated
	p, err := d.ports.Records.LoadRunProgress(ctx, r.ID)
	switch {
	case errors.Is(err, messages.ErrNotFound):
	case err != nil:
		return last, err
	case p.Updated.After(last):
		last = p.Updated
	}
	return last, nil
}
