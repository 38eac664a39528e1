package coordinator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// seen is a query's record as the watch showed it.
type seen struct {
	id       string
	query    *messages.Query // nil: removed
	revision uint64
	old      bool // it was there before this leader: its items may be with workers already
}

// office is a leader's desk: the newest record of each query, and who works on it.
type office struct {
	newest  map[string]seen
	drivers map[string]chan seen // the driver's mailbox; it holds the newest record that it has not read
	ended   chan seen            // with the newest record that the driver knows
	running sync.WaitGroup
}

// lead works on all queries until ctx ends or the watch is lost.
func (c *Coordinator) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	o := &office{newest: map[string]seen{}, drivers: map[string]chan seen{}, ended: make(chan seen)}
	defer o.running.Wait()
	defer cancel()
	if err := c.FindLost(ctx); err != nil {
		return err
	}
	o.running.Go(func() { c.retain(ctx) })
	o.running.Go(func() { c.watchWorkers(ctx) })

	records := make(chan seen)
	lost := make(chan error, 1)
	o.running.Go(func() { lost <- c.watchQueries(ctx, records) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			return err
		case s := <-records:
			if have, known := o.newest[s.id]; known && have.revision >= s.revision {
				continue // a driver told of it before the watch did
			}
			o.newest[s.id] = s
			if box, busy := o.drivers[s.id]; busy {
				replace(box, s)
				continue
			}
			c.start(ctx, o, s)
		case s := <-o.ended:
			delete(o.drivers, s.id)
			if have := o.newest[s.id]; have.revision > s.revision {
				s = have
			}
			o.newest[s.id] = s
			c.start(ctx, o, s)
		}
	}
}

func (c *Coordinator) watchQueries(ctx context.Context, records chan<- seen) error {
	old := true
	return c.ports.Catalogue.WatchQueries(ctx, func(id string, q *messages.Query, revision uint64, err error) {
		if err != nil {
			c.log.Error("a query's record cannot be read; it is left alone", "query", id, "error", err)
			return
		}
		select {
		case records <- seen{id, q, revision, old}:
		case <-ctx.Done():
		}
	}, func() { old = false })
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

// start begins what a query's record asks for, if anything.
func (c *Coordinator) start(ctx context.Context, o *office, s seen) {
	var work func(context.Context, seen, <-chan seen) (seen, error)
	switch {
	case s.query == nil:
		delete(o.newest, s.id)
		return
	case s.query.State.Active():
		work = c.drive
	case s.query.ResumesByItself():
		work = c.waitAndResume
	default:
		c.shares.look(s.query.Service) // it may have ended before anybody drove it
		return
	}
	box := make(chan seen, 1)
	o.drivers[s.id] = box
	o.running.Go(func() {
		last, err := work(ctx, s, box)
		if unrunnable(err) {
			last, err = c.giveUp(ctx, last, err)
		}
		if err != nil && ctx.Err() == nil {
			c.logOf(s.query).Warn("cannot go on with the query now, trying again", "error", err)
			pause(ctx, time.Second)
			last.old = true // its items may be with workers
		}
		select {
		case o.ended <- last:
		case <-ctx.Done():
		}
	})
}

// unrunnable tells whether a query can never go on as it is: trying again would fail the same way.
func unrunnable(err error) bool {
	for _, target := range []error{
		query.ErrFingerprint, query.ErrSpec, query.ErrInvalid, service.ErrPinned, messages.ErrInvalid, messages.ErrVersion, messages.ErrDamaged, messages.ErrNotFound,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// giveUp settles a query that can never go on as it is, with the reason for people.
func (c *Coordinator) giveUp(ctx context.Context, s seen, cause error) (seen, error) {
	if s.query == nil {
		return s, nil
	}
	c.logOf(s.query).Error("the query cannot go on", "error", cause)
	hint := "what is complete can be taken with --partial; to have all of it, run the query anew"
	if errors.Is(cause, errNotCompiled) {
		hint = "resume it when a coordinator that has the adapter leads"
	}
	q := *s.query
	q.State, q.Updated = messages.Failed, c.ports.Now()
	q.Stop = &messages.Stop{Kind: messages.StopFailure, Class: "query", Reason: messages.Text(cause.Error()), Hint: hint, At: q.Updated}
	revision, err := c.ports.Queries.SaveQuery(ctx, &q, s.revision)
	if errors.Is(err, messages.ErrConflict) {
		return c.reload(ctx, s)
	}
	if err != nil {
		return s, err
	}
	c.ports.Observer.Settled(q.Service, q.State, false)
	return seen{id: s.id, query: &q, revision: revision, old: s.old}, c.ports.Items.PurgeItems(ctx, q.Service, q.ID)
}

// waitAndResume resumes an interrupted query when its time has come. Any change of the record ends the wait.
func (c *Coordinator) waitAndResume(ctx context.Context, s seen, box <-chan seen) (seen, error) {
	timer := time.NewTimer(max(0, s.query.ResumeAt().Sub(c.ports.Now())))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return s, nil
	case changed := <-box:
		return changed, nil
	case <-timer.C:
	}
	resumed, err := c.resume(ctx, s, nil, s.query.Only)
	if errors.Is(err, messages.ErrConflict) {
		return c.reload(ctx, s)
	}
	return resumed, err
}

// reload reads the record of a query that somebody else has changed or removed.
func (c *Coordinator) reload(ctx context.Context, s seen) (seen, error) {
	q, revision, err := c.ports.Queries.LoadQuery(ctx, s.id)
	if errors.Is(err, messages.ErrNotFound) {
		return seen{id: s.id, revision: s.revision + 1}, nil
	}
	if err != nil {
		return s, err
	}
	return seen{id: s.id, query: q, revision: revision, old: true}, nil
}
