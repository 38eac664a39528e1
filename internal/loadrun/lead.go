package loadrun

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// seen is a run's record as it was last known.
type seen struct {
	id       string
	run      *load.Run // nil: removed
	revision uint64
}

// office is the newest record of each run, and who works on it.
type office struct {
	newest  map[string]seen
	courses map[string]chan seen // the mailbox of whoever works on it; it holds the newest record that was not read
	ended   chan seen            // with the newest record that whoever worked on it knows
	running sync.WaitGroup
}

// lead works on all runs until ctx ends or the watch is lost.
func (c *Controller) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	o := &office{newest: map[string]seen{}, courses: map[string]chan seen{}, ended: make(chan seen)}
	defer o.running.Wait()
	defer cancel()
	o.running.Go(func() { c.retain(ctx) })
	records := make(chan seen)
	lost := make(chan error, 1)
	o.running.Go(func() {
		lost <- c.ports.Records.WatchRuns(ctx, func(id string, r *load.Run, revision uint64) {
			select {
			case records <- seen{id, r, revision}:
			case <-ctx.Done():
			}
		}, func() {})
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			return err
		case s := <-records:
			if have, known := o.newest[s.id]; known && have.revision >= s.revision {
				continue // whoever works on it told of it before the watch did
			}
			o.newest[s.id] = s
			if box, busy := o.courses[s.id]; busy {
				replace(box, s)
				continue
			}
			c.begin(ctx, o, s)
		case s := <-o.ended:
			delete(o.courses, s.id)
			if have := o.newest[s.id]; have.revision > s.revision {
				s = have
			}
			o.newest[s.id] = s
			c.begin(ctx, o, s)
		}
	}
}

// replace puts s into a mailbox of one, in place of what was not read.
func replace(box chan seen, s seen) {
	for {
		select {
		case box <- s:
			return
		default:
		}
		select {
		case <-box:
		default:
		}
	}
}

// begin sets to work on a run, if there is anything to do for it.
func (c *Controller) begin(ctx context.Context, o *office, s seen) {
	switch {
	case s.run == nil:
		delete(o.newest, s.id)
		return
	case !s.run.State.Active():
		return
	}
	box := make(chan seen, 1)
	o.courses[s.id] = box
	leave := c.active.enter(s.run)
	o.running.Go(func() {
		defer leave()
		last, err := c.work(ctx, s, box)
		if hopeless(err) {
			last, err = c.giveUp(ctx, last, err)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("cannot go on with the load run now, trying again", "run", s.id, "error", err)
			pause(ctx, time.Second)
		}
		select {
		case o.ended <- last:
		case <-ctx.Done():
		}
	})
}

// work goes on with a run from wherever it stands, and returns the newest record that it knows when the run has changed its state or somebody
// else has changed the record.
func (c *Controller) work(ctx context.Context, s seen, box <-chan seen) (seen, error) {
	if s.run.State == load.Draining {
		return c.drain(ctx, s, box)
	}
	return c.drive(ctx, s, box)
}

// hopeless tells whether a run can never go on as it is: trying again would fail the same way.
func hopeless(err error) bool {
	for _, target := range []error{messages.ErrInvalid, messages.ErrVersion, messages.ErrDamaged, messages.ErrNotFound} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// giveUp ends a run that can never go on, with the reason for people.
func (c *Controller) giveUp(ctx context.Context, s seen, cause error) (seen, error) {
	c.log.Error("the load run cannot go on", "run", s.id, "error", cause)
	if err := c.ports.Intake.CloseIntake(ctx, s.id); err != nil {
		return s, fmt.Errorf("close the intake: %w", err)
	}
	if err := c.ports.Queue.PurgeRun(ctx, s.id); err != nil && !errors.Is(err, messages.ErrNotFound) {
		return s, fmt.Errorf("take back what is queued: %w", err)
	}
	if err := c.ports.Executions.SealRun(ctx, s.id); err != nil && !errors.Is(err, messages.ErrNotFound) {
		return s, fmt.Errorf("seal the records: %w", err)
	}
	next, err := c.save(ctx, s, func(r *load.Run) {
		if r.Ending == "" {
			r.Ending = load.Failed
		}
		if r.Reason == "" {
			r.Reason = messages.Text(cause.Error())
		}
		r.State, r.Ended, r.Verdict = load.Ended, c.ports.Now(), load.NotPassed
		if r.Closed.IsZero() {
			r.Closed = r.Ended
		}
	})
	if err == nil && next.run != nil && next.run.State == load.Ended {
		c.ports.Observer.Ended(next.run.Environment, next.run.Ending)
	}
	return next, err
}

// save changes a run's record, and gives it as it stands then. When somebody else has changed it, that is what stands, and nothing was written.
func (c *Controller) save(ctx context.Context, s seen, edit func(*load.Run)) (seen, error) {
	r := *s.run
	edit(&r)
	r.Updated = c.ports.Now()
	revision, err := c.ports.Records.SaveRun(ctx, &r, s.revision)
	if err == nil {
		return seen{s.id, &r, revision}, nil
	}
	if !errors.Is(err, messages.ErrConflict) {
		return s, fmt.Errorf("write the record: %w", err)
	}
	have, revision, err := c.ports.Records.LoadRun(ctx, s.id)
	if errors.Is(err, messages.ErrNotFound) {
		return seen{id: s.id, revision: s.revision + 1}, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the record: %w", err)
	}
	return seen{s.id, have, revision}, nil
}

// retainEvery is how often runs are looked for that are not kept any longer.
const retainEvery = 10 * time.Minute

// retain removes runs that ended long ago.
func (c *Controller) retain(ctx context.Context) {
	if c.cfg.Keep <= 0 {
		return
	}
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		if err := c.forget(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("old load runs are not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *Controller) forget(ctx context.Context) error {
	all, err := c.ports.Records.ListRuns(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.State.Active() || c.ports.Now().Sub(r.Ended) <= c.cfg.Keep {
			continue
		}
		if err := c.ports.Records.RemoveRun(ctx, r.ID); err != nil {
			return fmt.Errorf("remove load run %s: %w", r.ID, err)
		}
		c.log.Info("removed, as it ended long ago", "run", r.ID)
	}
	return nil
}
