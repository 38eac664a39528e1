package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	takeWait    = 5 * time.Second
	retryTake   = 500 * time.Millisecond
	retryOpen   = time.Second
	lastRelease = 2 * time.Second // after a stop, for a place to be given back
)

// run is one active run, as this worker takes part in it.
type run struct {
	x   *Executor
	id  string
	log *slog.Logger

	open  context.Context         //nolint:containedctx // lasts for as long as executions may be admitted, as far as is known here
	close context.CancelCauseFunc // of open; the cause is load.ErrIntakeClosed
	life  context.Context         //nolint:containedctx // lasts for as long as requests may be in flight
	cut   context.CancelCauseFunc // of life; the cause is errDrainOver

	// Set by serve and prepare, before anything is taken.
	stop      context.Context //nolint:containedctx // ends when the worker is to stop
	client    Client
	where     *load.Environment
	env       *environment
	queue     Queue
	snapshot  *load.Snapshot
	selection *load.Selection
	places    *lease.Semaphore

	executions sync.WaitGroup
	releases   sync.WaitGroup

	mu     sync.Mutex // guards all below
	record *load.Run
	drain  *time.Timer // ends life; nil: the run does not drain
}

func newRun(x *Executor, record *load.Run) *run {
	r := &run{x: x, id: record.ID, log: x.log.With("run", record.ID, "environment", record.Environment), record: record}
	r.open, r.close = context.WithCancelCause(context.Background())
	r.life, r.cut = context.WithCancelCause(context.Background())
	r.hear(record)
	return r
}

// hear takes in a changed record; nil: it was removed.
func (r *run) hear(record *load.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case record == nil || record.State == load.Ended:
		r.close(load.ErrIntakeClosed)
		r.cut(errDrainOver)
	case record.State == load.Draining:
		r.close(load.ErrIntakeClosed)
		if r.drain == nil {
			closed := record.Closed
			if closed.IsZero() {
				closed = r.x.ports.Now()
			}
			left := closed.Add(record.Profile.Drain).Sub(r.x.ports.Now())
			r.drain = time.AfterFunc(max(0, left), func() { r.cut(errDrainOver) })
		}
	}
	if record == nil {
		return
	}
	r.record = record
	r.fit()
}

// fit sets the number of places. The caller holds mu.
func (r *run) fit() {
	if r.places == nil {
		return
	}
	if err := r.places.SetSlots(min(r.record.Slots, load.MaxPlaces)); err != nil {
		r.log.Error("places not changed", "error", err)
	}
}

func (r *run) latest() *load.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record
}

// closed tells whether the intake is known to be closed.
func (r *run) closed() bool { return r.open.Err() != nil }

// serve takes executions until ctx ends or the run's intake is closed, and returns when all have ended. They run under work.
func (r *run) serve(ctx, work, background context.Context) {
	var tending sync.WaitGroup
	background, hangUp := context.WithCancel(background)
	defer tending.Wait()
	defer hangUp()
	defer r.forget()
	r.stop = ctx
	taking, stop := merged(ctx, r.open)
	defer stop()
	for {
		err := r.prepare(taking, background, &tending)
		if err == nil {
			break
		}
		if taking.Err() != nil {
			return
		}
		if errors.Is(err, ErrNoAdapter) {
			r.log.Warn("a load run is left to other workers", "error", err)
			return
		}
		level := r.log.Warn
		if errors.Is(err, messages.ErrUnreachable) || errors.Is(err, messages.ErrNotFound) {
			level = r.log.Debug // it is being made, or the connection says so itself
		}
		level("a load run cannot be worked on now, trying again", "error", err)
		if !pause(taking, retryOpen) {
			return
		}
	}
	defer r.env.leave(r.id)
	for taking.Err() == nil {
		if err := r.take(ctx, taking, work); err != nil && taking.Err() == nil {
			r.log.Debug("no executions, trying again", "error", err)
			pause(taking, retryTake)
		}
	}
	r.executions.Wait()
	r.releases.Wait()
}

// forget lets go of what belongs to the run's contexts.
func (r *run) forget() {
	r.close(load.ErrIntakeClosed)
	r.cut(errDrainOver)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drain != nil {
		r.drain.Stop()
	}
}

// prepare finds all that is needed for the run's executions. It may be called again after an error.
func (r *run) prepare(ctx, background context.Context, tending *sync.WaitGroup) (err error) {
	record := r.latest()
	if r.client == nil {
		if r.client, r.where, err = r.x.ports.Clients.Client(ctx, record.Environment, record.Definition); err != nil {
			r.client = nil
			return err
		}
	}
	if r.snapshot == nil {
		snapshot, err := r.x.ports.Files.Snapshot(ctx, record.Snapshot)
		if err != nil {
			return err
		}
		if len(snapshot.Charts) != record.Charts {
			return fmt.Errorf("%w: the run has %d charts, and its snapshot %d", messages.ErrInvalid, record.Charts, len(snapshot.Charts))
		}
		r.snapshot = snapshot
	}
	if r.selection == nil {
		selection, err := r.x.ports.Files.Selection(ctx, r.id)
		if err != nil {
			return err
		}
		if len(selection.Variations) != record.Selected {
			return fmt.Errorf("%w: the run has %d variations, and its selection %d", messages.ErrInvalid, record.Selected, len(selection.Variations))
		}
		r.selection = selection
	}
	if r.queue, err = r.x.ports.Queues.RunQueue(ctx, r.id); err != nil {
		return err
	}
	places, err := r.x.semaphore(lease.Name{Service: record.Environment, Capacity: load.PlacesOf(r.id)}, record.Slots)
	if err != nil {
		return err
	}
	if r.env, err = r.x.enter(r.x.tended, &r.x.tending, record, r.where, places); err != nil { //nolint:contextcheck // what it starts lasts as long as the executor
		return err
	}
	tending.Go(func() { _ = places.Run(background) }) // it only ends with background
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places = places
	r.fit()
	return nil
}

// take holds a place, takes the next execution, and begins it. Nothing is taken without a place, so that who waits does so in the queue.
func (r *run) take(ctx, taking, work context.Context) error {
	if err := r.x.room.Acquire(taking, 1); err != nil {
		return nil //nolint:nilerr // the run or the worker is at its end
	}
	asked := r.x.ports.Local()
	place, err := r.places.Acquire(taking)
	if err != nil {
		r.x.room.Release(1)
		return nil //nolint:nilerr // likewise: the store is waited for
	}
	r.x.ports.Observer.PlaceTaken(r.latest().Environment, "run", r.x.ports.Local().Sub(asked))
	d, err := r.queue.TakeOne(taking, takeWait)
	if d == nil {
		r.release(ctx, place)
		r.x.room.Release(1)
		return err
	}
	if ctx.Err() != nil { // it came while the worker was told to stop
		r.release(ctx, place)
		r.x.room.Release(1)
		return d.HandBack()
	}
	r.executions.Go(func() {
		defer r.x.room.Release(1)
		defer r.release(ctx, place)
		r.execute(work, d, place)
	})
	return nil
}

// release gives a place back beside the work, for as long as its lease may stand; after a stop, for a moment.
func (r *run) release(ctx context.Context, place *lease.Slot) {
	r.releases.Go(func() {
		giving, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		forget := context.AfterFunc(ctx, func() { time.AfterFunc(lastRelease, cancel) })
		defer forget()
		if err := place.Release(giving); err != nil {
			r.log.Debug("a place is not given back; it expires", "error", err)
		}
	})
}

// waiting gives a child of ctx for what comes before an admission: it ends as well when nothing is admitted any more, or the worker is to stop.
func (r *run) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	whileOpen, stop := merged(ctx, r.open)
	both, stopToo := merged(whileOpen, r.stop)
	return both, func() {
		stopToo()
		stop()
	}
}

// merged gives a child of ctx that ends with the other too, with its cause.
func merged(ctx, other context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return both, func() {
		stop()
		cancel(context.Canceled)
	}
}
