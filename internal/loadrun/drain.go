package loadrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// drainMargin is how long after the time to drain the records of what was cut may take to be stored.
const drainMargin = 5 * time.Second

// drain brings a run to its end whose intake is to be closed: it closes it, takes back what is queued, waits for what was admitted (LR-1.6),
// stores the record of what nobody speaks of, and counts. The records are read only after the intake has been closed, so that all
// admissions are among them.
func (c *Controller) drain(ctx context.Context, s seen, box <-chan seen) (seen, error) {
	if err := c.ports.Intake.CloseIntake(ctx, s.id); err != nil {
		return s, fmt.Errorf("close the intake: %w", err)
	}
	if err := c.ports.Queue.PurgeRun(ctx, s.id); err != nil {
		return s, fmt.Errorf("take back what is queued: %w", err)
	}
	a, err := c.account(ctx, s, nil)
	if err != nil {
		return s, err
	}
	news, lost, stop := a.reader(ctx)
	defer stop()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		over, err := a.landed(ctx)
		if err != nil {
			return a.at, err
		}
		if over {
			return c.conclude(ctx, a)
		}
		select {
		case <-ctx.Done():
			return a.at, nil
		case err := <-lost:
			if err == nil {
				err = errReadingEnded
			}
			return a.at, err
		case changed := <-box:
			if changed.revision > a.at.revision {
				return changed, nil
			}
		case what := <-news:
			a.takeIn(what, news)
			a.tripped = false // what completes now is counted alone
		case <-tick.C:
			a.look(ctx)
			if err := a.tell(ctx); err != nil {
				return a.at, err
			}
		}
	}
}

// landed tells whether nothing that was admitted is without a record. When the time to drain is over, it stores the records that are missing.
func (a *account) landed(ctx context.Context) (bool, error) {
	if !a.caught || !a.awaits() {
		return a.caught, nil
	}
	r, now := a.at.run, a.c.ports.Now()
	if !a.c.left.IsZero() {
		now = a.c.left // nothing has happened behind it
	} else if now.Before(r.Closed.Add(r.Profile.Drain + drainMargin)) {
		return false, nil
	}
	for _, n := range slices.Sorted(maps.Keys(a.flying)) {
		if a.fold.Recorded(n) {
			continue // what counts is there
		}
		err := a.c.ports.Executions.PublishExecution(ctx, a.unheard(n, now))
		if err != nil && !errors.Is(err, messages.ErrExists) && !errors.Is(err, load.ErrSealed) {
			return false, fmt.Errorf("store the record of what nobody speaks of: %w", err)
		}
	}
	a.log.Warn("nothing was heard of executions that were admitted; they are recorded as cancelled", "executions", len(a.flying))
	clear(a.flying)
	return true, nil
}

// awaits tells whether something is in flight that is worth to be waited for: not what is lost with its worker, where another attempt has a record.
func (a *account) awaits() bool {
	for n := range a.flying {
		if !a.lost[n] || !a.fold.Recorded(n) {
			return true
		}
	}
	return false
}

// unheard is the record of an execution whose worker never told what came of it.
func (a *account) unheard(n int, now time.Time) *load.Execution {
	m, r, v := a.flying[n], a.at.run, a.paper.variation(n)
	finished := now
	if finished.Before(m.At) {
		finished = m.At
	}
	e := &load.Execution{
		V: load.Version, Run: r.ID, Number: n, Attempt: m.Attempt, WarmUp: n < r.Profile.WarmUp, Chart: a.paper.chart(n),
		Variation: v.ID, FiltersHash: v.FiltersHash, Role: v.Role, TimeRange: v.TimeRange,
		Outcome: load.Cancelled, Kind: load.DrainOver, Message: "nothing was heard of it until the time to drain was over",
		Clock: load.Clock{Source: "stream"}, Enqueued: m.At, Taken: m.At, Admitted: m.At, Finished: finished,
		Requests: a.sent[n], Force: r.Profile.Force, Worker: m.Worker,
	}
	if first, repeats := a.paper.selection.RepeatOf[n]; repeats {
		e.RepeatOf = &first
	}
	return e
}

// conclude ends a run of which all is recorded. Nothing is recorded of it any more then, so that its report stays as it is.
func (c *Controller) conclude(ctx context.Context, a *account) (seen, error) {
	if err := c.ports.Executions.SealRun(ctx, a.at.id); err != nil {
		return a.at, fmt.Errorf("seal the records: %w", err)
	}
	if err := c.ports.Queue.PurgeRun(ctx, a.at.id); err != nil { // a controller before this one may have been at it still
		return a.at, fmt.Errorf("take back what is queued: %w", err)
	}
	ended := *a.at.run
	ended.State, ended.Ended = load.Ended, c.ports.Now()
	if !c.left.IsZero() {
		ended.Ended = c.left
	}
	fold, err := foldOf(ctx, c.ports.Executions, &ended, a.paper.snapshot, nil, a.log)
	if err != nil {
		return a.at, err
	}
	if ended.Trip == nil && ended.Ending == load.Tripped {
		ended.Trip = fold.Trip()
	}
	p := fold.Progress(ended.Ended)
	if completed := p.Success + p.Errors + p.Timeouts; completed+p.Cancelled+p.NotStarted+p.NotDispatched != ended.Total {
		a.log.Error("the counts of the load run do not add up", "completed", completed, "cancelled", p.Cancelled, "not_started", p.NotStarted,
			"not_dispatched", p.NotDispatched, "total", ended.Total)
	}
	if err := c.ports.Records.SaveRunProgress(ctx, p); err != nil {
		return a.at, fmt.Errorf("store the progress: %w", err)
	}
	verdict := fold.Report().Verdict
	next, err := c.save(ctx, a.at, func(r *load.Run) {
		r.State, r.Ended, r.Trip, r.Verdict = load.Ended, ended.Ended, ended.Trip, verdict
	})
	if err != nil {
		return a.at, err
	}
	if next.run != nil && next.run.State == load.Ended {
		a.log.Info("ended", "ending", next.run.Ending, "verdict", verdict, "requests", p.RequestsSent)
		c.ports.Observer.Ended(next.run.Environment, next.run.Ending)
	}
	return next, nil
}
