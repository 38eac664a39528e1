package loadrun

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

// course leads one run while it is prepared and runs. It is used by one goroutine.
type course struct {
	*account
	walk   walk
	checks map[int]bool // of the preflight: whether the number has a record
	left   int          // of these, those without one
	failed *load.Execution
	stall  time.Duration // how long without news is too long
	looked time.Time     // for a worker that takes part
	served time.Time     // when one did
}

// drive leads a run until its intake closes, or until somebody else changes the record. It begins by reading what is recorded: a beginning and a
// take-over are the same.
func (c *Controller) drive(ctx context.Context, s seen, box <-chan seen) (seen, error) {
	d := &course{stall: c.cfg.StallAfter}
	var err error
	if d.account, err = c.account(ctx, s, d.check); err != nil {
		return s, err
	}
	d.prepareChecks()
	d.walk = newWalk(s.run, d.checks)
	if err := c.ports.Queue.EnsureRunQueue(ctx, s.run, d.ackWait); err != nil {
		return s, err
	}
	news, lost, stop := d.reader(ctx)
	defer stop()
	err = d.loop(ctx, box, news, lost)
	return d.at, err
}

func (d *course) loop(ctx context.Context, box <-chan seen, news <-chan any, lost <-chan error) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	ready := make(chan struct{})
	close(ready)
	for {
		if over, err := d.act(ctx); over || err != nil {
			return err
		}
		var more <-chan struct{}
		var due <-chan time.Time
		wait, have := d.nextDue()
		if have && wait <= 0 {
			more = ready
		} else if have {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			if err == nil {
				err = errReadingEnded
			}
			return err
		case s := <-box:
			d.stands(s)
		case what := <-news:
			d.takeIn(what, news)
		case <-tick.C:
			d.look(ctx)
			if err := d.tell(ctx); err != nil {
				return err
			}
		case <-due:
		case <-more:
			if err := d.publish(ctx); err != nil {
				return err
			}
		}
	}
}

// act does what is due. over: this part of the run has ended.
func (d *course) act(ctx context.Context) (over bool, err error) {
	r := d.at.run
	switch {
	case r == nil || r.State == load.Draining || r.State == load.Ended:
		return true, nil
	case d.tripped: // also before all is read: the same records trip whoever reads them
		return true, d.close(ctx, load.Tripped, tripReason(d.fold.Trip()))
	case !d.caught:
		return false, nil
	case d.failed != nil:
		return true, d.close(ctx, load.PreflightFailed, d.failReason())
	case d.recorded == r.Total:
		return true, d.close(ctx, load.Completed, "")
	case d.bad > 0 && d.recorded+d.bad >= r.Total:
		return true, d.close(ctx, load.Failed, fmt.Sprintf("%d records cannot be read; they may be of a newer Braid", d.bad))
	case d.unserved(ctx):
		return true, d.close(ctx, load.Failed, d.unservedReason())
	case r.State == load.Preparing && d.left == 0:
		return d.change(ctx, func(r *load.Run) {
			r.State, r.Started = load.Running, d.c.ports.Now()
			r.Stage, r.StageSince, r.StageFrom = 0, r.Started, d.recorded
			r.Slots = slotsOf(&r.Profile, 0, r.Capacity.Effective)
		})
	case r.State == load.Running && d.stageOver():
		if r.Stage+1 >= len(r.Profile.Stages) {
			return true, d.close(ctx, load.Completed, "its last stage is over")
		}
		return d.change(ctx, func(r *load.Run) {
			r.Stage, r.StageSince, r.StageFrom = r.Stage+1, d.c.ports.Now(), d.recorded
			r.Slots = slotsOf(&r.Profile, r.Stage, r.Capacity.Effective)
		})
	}
	d.lookForStall()
	return false, nil
}

// stageOver tells whether the stage that is under way has had its executions or its time.
func (d *course) stageOver() bool {
	r := d.at.run
	if r.Stage >= len(r.Profile.Stages) {
		return false
	}
	stage := r.Profile.Stages[r.Stage]
	return stage.Executions > 0 && d.recorded-r.StageFrom >= stage.Executions ||
		stage.Lasts > 0 && !d.c.ports.Now().Before(r.StageSince.Add(stage.Lasts))
}

// change writes the record. over: somebody else was faster, and what to do is decided anew.
func (d *course) change(ctx context.Context, edit func(*load.Run)) (over bool, err error) {
	before := d.at.revision
	next, err := d.c.save(ctx, d.at, edit)
	if err != nil {
		return true, err
	}
	mine := next.run != nil && next.revision != before && next.run.State == load.Running
	d.stands(next)
	d.dirty = true
	if mine {
		d.log.Info("running", "stage", next.run.Stage, "slots", next.run.Slots)
	}
	return !mine, nil
}

// close ends the intake, and then writes that the run drains. Whoever takes over in between comes to the same decision.
func (d *course) close(ctx context.Context, ending load.Ending, reason string) error {
	if err := d.c.ports.Intake.CloseIntake(ctx, d.at.id); err != nil {
		return fmt.Errorf("close the intake: %w", err)
	}
	d.log.Info("the intake is closed", "ending", ending, "reason", reason, "recorded", d.recorded, "total", d.at.run.Total)
	next, err := d.c.save(ctx, d.at, func(r *load.Run) {
		r.State, r.Ending, r.Reason, r.Closed = load.Draining, ending, reason, d.c.ports.Now()
		r.Trip = d.fold.Trip()
	})
	if err != nil {
		return err
	}
	d.stands(next)
	return nil
}

func tripReason(t *load.Trip) string {
	if t == nil {
		return ""
	}
	said := make([]string, len(t.Triggers))
	for i, trigger := range t.Triggers {
		said[i] = fmt.Sprintf("%s is %s, at or above %s", trigger.Metric, trigger.Observed, trigger.Threshold)
	}
	return fmt.Sprintf("the breaker tripped at completion %d: %s", t.AtCompleted, strings.Join(said, "; "))
}

// lookForStall has what has no record queued again when there was no news for long: the queue may have lost it. What is queued still is refused.
func (d *course) lookForStall() {
	now := d.c.ports.Now()
	if d.at.run.State != load.Running || !d.walk.done() || now.Sub(d.heard) < d.stall {
		return
	}
	d.log.Warn("no news for long; what has no record is queued again", "recorded", d.recorded, "in_flight", len(d.flying))
	d.walk = newWalk(d.at.run, d.checks)
	d.heard, d.stall = now, min(2*d.stall, time.Hour)
}
