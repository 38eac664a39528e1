package loadrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Stop ends a run: once it returns without an error, no request is admitted any more (LR-1.5). What was admitted ends within the time to
// drain. A run that drains already is given as it is; one that has ended is an error that wraps load.ErrState.
func (d *Desk) Stop(ctx context.Context, by load.Actor, run string) (*load.Run, error) {
	if !by.Run {
		return nil, noPermission("load:run", "stop a load run")
	}
	return d.end(ctx, run, func(r *load.Run) {
		r.Ending, r.StoppedBy = load.Stopped, by.Name
	})
}

// Park ends what a process that has ended left running, so that no load goes on without being asked for: each such run drains since it was last
// heard of, and Controller.Settle brings it to its end. Only a process that has the store for itself may call it.
func (d *Desk) Park(ctx context.Context) error {
	all, err := d.list(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range all {
		if !r.State.Active() {
			continue
		}
		since, err := lastSign(ctx, d.ports.Records, r.ID, r.Updated)
		if err == nil {
			_, err = d.end(ctx, r.ID, func(r *load.Run) {
				r.Ending, r.Reason, r.Closed = load.Failed, "the process that ran it ended", since
			})
		}
		if err != nil && !errors.Is(err, load.ErrState) {
			errs = append(errs, fmt.Errorf("load run %s: %w", r.ID, err))
		}
	}
	return errors.Join(errs...)
}

// end writes that a run drains, and then closes its intake. Whoever dies in between leaves it to the controller.
func (d *Desk) end(ctx context.Context, run string, edit func(*load.Run)) (*load.Run, error) {
	for {
		r, revision, err := d.find(ctx, run)
		if err != nil {
			return nil, err
		}
		run = r.ID
		switch r.State {
		case load.Ended:
			return r, fmt.Errorf("stop %s: %w: it has ended as %s already; nothing runs", r.ID, load.ErrState, r.Ending)
		case load.Preparing, load.Running:
			r.State, r.Closed, r.Updated = load.Draining, d.ports.Now(), d.ports.Now()
			edit(r)
			_, err := d.ports.Records.SaveRun(ctx, r, revision)
			if errors.Is(err, messages.ErrConflict) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("stop %s: %w", r.ID, err)
			}
			d.log.Info("stopping", "run", r.ID, "ending", r.Ending, "by", r.StoppedBy)
		case load.Draining:
		}
		if err := d.ports.Intake.CloseIntake(ctx, r.ID); err != nil {
			return nil, fmt.Errorf("stop %s: close its intake: %w; it is noted that it stops, and the leading coordinator goes on with it", r.ID, err)
		}
		return r, nil
	}
}
