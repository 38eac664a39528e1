package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// How an execution ends that has no record.
var (
	errHandBack = errors.New("the execution is handed back")
	errLeave    = errors.New("the execution is left: it may be in other hands")

	errPoolTimeout = errors.New("no place among all requests to the environment in time")
	errNotStarted  = errors.New("it did not begin in time")
)

const (
	poolTimeout = 30 * time.Second // where an environment says none
	lastWord    = 5 * time.Second  // after work was cut, for a record to be stored
	unclear     = time.Second      // before what could not be looked at is handed back
)

// execution is one item being executed. Used by one goroutine, and by the client's in between.
type execution struct {
	r        *run
	record   *load.Run
	delivery Delivery
	item     *load.Item
	place    *lease.Slot
	token    *lease.Slot
	taken    time.Time // local

	cut context.CancelCauseFunc // of its context

	mu       sync.Mutex // guards all below: the client may ask for places from a goroutine of its own
	shared   *lease.Slot
	why      error     // of a place that was not given, or of an admission that was not
	admitted time.Time // local; zero: it was not
	requests int       // admissions
}

// execute sees to the end of an item.
func (r *run) execute(work context.Context, d Delivery, place *lease.Slot) {
	e := &execution{r: r, record: r.latest(), delivery: d, item: d.Item(), place: place, taken: r.x.ports.Local()}
	log := r.log.With("number", e.item.Number, "attempt", d.Attempt())
	r.x.ports.Observer.ExecutionTaken(e.record.Environment)
	alive := r.keepAlive(d)
	done, err := e.run(work)
	if err == nil && done != nil {
		err = e.store(work, done)
	}
	alive()
	switch {
	case err == nil:
		ending, cancel := r.lasting(work)
		defer cancel()
		if err := d.Done(ending); err != nil {
			log.Warn("an execution is not acknowledged; it comes again and is found done", "error", err)
		}
		if done != nil {
			r.x.ports.Observer.ExecutionEnded(e.record.Environment, done.Outcome, done.Kind)
		}
	case errors.Is(err, errHandBack):
		log.Debug("an execution is handed back", "error", err)
		if err := d.HandBack(); err != nil {
			log.Debug("it is not; it comes again by itself", "error", err)
		}
	default:
		log.Warn("an execution is left for another try", "error", err)
	}
}

// run gives the record of the execution; nil without an error: it has one already.
func (e *execution) run(work context.Context) (*load.Execution, error) {
	r := e.r
	if e.item.Run != r.id || e.item.Number >= e.record.Total || e.item.Number >= len(r.selection.Variations)*len(r.snapshot.Charts) {
		r.log.Error("an item is none of the run; it is dropped", "of", e.item.Run, "number", e.item.Number)
		return nil, nil
	}
	if e.delivery.Attempt() > 1 {
		_, err := r.x.ports.Executions.Execution(work, r.id, e.item.Number)
		switch {
		case err == nil:
			return nil, nil // an earlier attempt was stored, and its acknowledgement lost
		case !errors.Is(err, messages.ErrNotFound):
			pause(work, unclear)
			return nil, fmt.Errorf("%w: %w", errHandBack, err)
		}
	}
	ctx, cut := context.WithCancelCause(work)
	defer cut(nil)
	e.cut = cut
	stop := context.AfterFunc(r.life, func() { cut(context.Cause(r.life)) }) //nolint:contextcheck // its cause alone is asked for
	defer stop()
	defer e.watch(e.place)() //nolint:contextcheck // a place lasts for itself
	answer, err := e.send(ctx)
	e.giveBack(work)
	if err == nil {
		return e.completed(&answer), nil
	}
	return e.unsent(ctx, err)
}

// send waits for the execution's time and its token, and has the client send it.
func (e *execution) send(ctx context.Context) (load.Answer, error) {
	waiting, stop := e.r.waiting(ctx)
	defer stop()
	if early := e.item.Intended.Sub(e.r.x.ports.Now()); !e.item.Intended.IsZero() && early > 0 {
		if !pause(waiting, early) {
			return load.Answer{}, context.Cause(waiting)
		}
	}
	if e.tooLate() {
		return load.Answer{}, errNotStarted
	}
	asked := e.r.x.ports.Local()
	token, err := e.r.env.load.Acquire(waiting)
	if err != nil {
		return load.Answer{}, err
	}
	e.token = token
	defer e.watch(token)() //nolint:contextcheck // a place lasts for itself
	e.r.x.ports.Observer.PlaceTaken(e.record.Environment, loadCapacity, e.r.x.ports.Local().Sub(asked))
	return e.r.client.Execute(ctx, e.request(), load.Places{Shared: e.askShared, Admit: e.askAdmission})
}

// watch cuts the execution when a place is lost, until the function that it gives is called.
func (e *execution) watch(slot *lease.Slot) (done func()) {
	held, release := slot.Context(context.Background())
	stop := context.AfterFunc(held, func() {
		if errors.Is(context.Cause(held), lease.ErrLost) {
			e.cut(errLostPlace)
		}
	})
	return func() {
		stop()
		release()
	}
}

func (e *execution) request() load.Request {
	charts := len(e.r.snapshot.Charts)
	return load.Request{
		Dashboard: e.r.snapshot.Dashboard, Chart: e.r.snapshot.Charts[e.item.Number%charts], Filters: e.r.snapshot.Filters,
		Variation: e.r.selection.Variations[e.item.Number/charts], Force: e.record.Profile.Force, Async: e.r.where.Async,
		Deadline: e.record.Profile.Deadline, Sample: e.record.Profile.Sample,
	}
}

// tooLate tells whether an execution with an intended time has waited for longer than its patience.
func (e *execution) tooLate() bool {
	arrival := e.record.Profile.Arrival
	return arrival != nil && arrival.Patience > 0 && !e.item.Intended.IsZero() && e.r.x.ports.Now().Sub(e.item.Intended) > arrival.Patience
}

// askShared waits for a place among all requests to the environment. It is called inside the client's call (LR-2.7).
func (e *execution) askShared(ctx context.Context) (release func(), err error) {
	patience := e.r.where.PoolTimeout
	if patience <= 0 {
		patience = poolTimeout
	}
	waiting, stop := e.r.waiting(ctx)
	defer stop()
	waiting, cancel := context.WithTimeoutCause(waiting, patience, errPoolTimeout)
	defer cancel()
	asked := e.r.x.ports.Local()
	slot, err := e.r.env.shared.Acquire(waiting)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.why = context.Cause(waiting)
		return nil, fmt.Errorf("wait for a place at %s: %w", e.record.Environment, e.why)
	}
	e.shared = slot
	e.r.x.ports.Observer.PlaceTaken(e.record.Environment, "shared", e.r.x.ports.Local().Sub(asked))
	unwatch := e.watch(slot) //nolint:contextcheck // a place lasts for itself
	return sync.OnceFunc(func() {
		unwatch()
		e.r.release(context.WithoutCancel(ctx), slot)
	}), nil
}

// askAdmission stores that the request is sent now. All places must hold before and after: storing may have taken long, and a process that
// stood still does not know how long.
func (e *execution) askAdmission(ctx context.Context, repeat bool) error {
	err := e.admit(ctx, repeat)
	if err == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.why = err
	if errors.Is(err, load.ErrIntakeClosed) {
		e.r.close(load.ErrIntakeClosed) // before the run's record says so: nothing more is taken
	}
	return err
}

func (e *execution) admit(ctx context.Context, repeat bool) error {
	if e.tooLate() && !repeat {
		return errNotStarted
	}
	if err := e.holds(ctx); err != nil {
		return err
	}
	at, _ := e.r.x.ports.Clock.At(e.r.x.ports.Local())
	waiting, stop := merged(ctx, e.r.life)
	defer stop()
	err := e.r.x.ports.Intake.Admit(waiting, &load.Admission{
		V: load.Version, Run: e.r.id, Number: e.item.Number, Attempt: e.delivery.Attempt(), Repeat: repeat, Worker: e.r.x.cfg.ID, At: at.UTC(),
	}, e.place.Index())
	if err != nil {
		if cause := context.Cause(waiting); cause != nil && !errors.Is(err, load.ErrIntakeClosed) {
			return cause
		}
		return err
	}
	e.mu.Lock()
	e.admitted = e.r.x.ports.Local()
	e.requests++
	e.mu.Unlock()
	return e.holds(ctx)
}

// holds tells whether the request may be sent this very moment, as far as places and time go.
func (e *execution) holds(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := context.Cause(e.r.life); err != nil { //nolint:contextcheck // its cause alone is asked for
		return err
	}
	e.mu.Lock()
	shared := e.shared
	e.mu.Unlock()
	for _, slot := range []*lease.Slot{e.place, e.token, shared} {
		if slot != nil && !slot.Valid() {
			return errLostPlace
		}
	}
	return nil
}

// giveBack gives the token back: the client's call is over.
func (e *execution) giveBack(work context.Context) {
	if e.token != nil {
		e.r.release(work, e.token)
	}
}

// keepAlive tells the queue that the item is being worked on, until the function that it gives is called.
func (r *run) keepAlive(d Delivery) (done func()) {
	end := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() {
		tick := time.NewTicker(r.x.cfg.Beat)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			if err := d.InProgress(); err != nil {
				r.log.Debug("no sign of life sent", "error", err)
			}
		}
	})
	return func() {
		close(end)
		beats.Wait()
	}
}

// lasting is a context for what is to be stored at the end: it outlives work for a moment.
func (r *run) lasting(work context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(work), r.x.cfg.Commit)
	stop := context.AfterFunc(work, func() { time.AfterFunc(lastWord, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
