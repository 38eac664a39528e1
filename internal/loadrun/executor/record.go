package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/timing"
)

const mostRejected = 1000 // columns that a record names

// base is the record of the execution as far as it is known from its item. finished is local.
func (e *execution) base(finished time.Time) *load.Execution {
	charts := len(e.r.snapshot.Charts)
	variation := e.r.selection.Variations[e.item.Number/charts]
	taken, clock := e.r.x.ports.Clock.At(e.taken)
	ended, _ := e.r.x.ports.Clock.At(finished)
	done := &load.Execution{
		V: load.Version, Run: e.r.id, Number: e.item.Number, Attempt: e.delivery.Attempt(), WarmUp: e.item.WarmUp,
		Chart: e.r.snapshot.Charts[e.item.Number%charts].ID, Variation: variation.ID, FiltersHash: variation.FiltersHash,
		Role: variation.Role, TimeRange: variation.TimeRange, Force: e.record.Profile.Force, Worker: e.r.x.cfg.ID,
		Clock: clock, Enqueued: e.delivery.Enqueued().UTC(), Taken: taken.UTC(), Finished: ended.UTC(),
	}
	if first, is := e.r.selection.RepeatOf[e.item.Number]; is {
		done.RepeatOf = &first
	}
	// From one machine to another: by one clock, and never less than nothing (LR-3).
	done.Waits.Queue = max(0, taken.Sub(e.delivery.Enqueued()))
	return done
}

// completed is the record of an exchange that came to its end, whatever that was.
func (e *execution) completed(a *load.Answer) *load.Execution {
	finished := a.Finished
	if finished.IsZero() {
		finished = e.r.x.ports.Local()
	}
	done := e.base(finished)
	e.mu.Lock()
	defer e.mu.Unlock()
	admitted := a.Admitted
	if admitted.IsZero() {
		admitted = e.admitted
	}
	e.measure(done, admitted, finished)
	if !a.Admitted.IsZero() {
		done.Waits.Upstream = max(0, a.Upstream)
	}
	done.Outcome, done.Kind, done.Status, done.Message = a.Outcome, a.Kind, a.Status, messages.Text(a.Message)
	done.Polls, done.Async, done.Cache, done.Queries = a.Polls, a.Async, a.Cache, a.Queries
	done.BodySHA256, done.DataSHA256, done.BodyBytes, done.WireBytes, done.Rows = a.BodySHA256, a.DataSHA256, a.BodyBytes, a.WireBytes, a.Rows
	done.Sample, done.Truncated, done.Rejected = a.Sample, a.Truncated, a.Rejected[:min(len(a.Rejected), mostRejected)]
	done.ReaderLag = max(0, a.ReaderLag)
	return done
}

// measure fills the waits that this process measures, by its monotonic clock. The caller holds mu.
func (e *execution) measure(done *load.Execution, admitted, finished time.Time) {
	done.Requests = e.requests
	if admitted.IsZero() {
		done.Waits.Resource = max(0, finished.Sub(e.taken))
	} else {
		at, _ := e.r.x.ports.Clock.At(admitted)
		done.Admitted = at.UTC()
		done.Waits = timing.Waits{Queue: done.Waits.Queue, Resource: max(0, admitted.Sub(e.taken)), Upstream: max(0, finished.Sub(admitted))}
	}
	if !e.item.Intended.IsZero() {
		late := done.Finished.Sub(e.item.Intended)
		done.Late = &late
	}
}

// cancelled is the record of an execution that is not completed.
func (e *execution) cancelled(outcome load.Outcome, kind string) *load.Execution {
	finished := e.r.x.ports.Local()
	done := e.base(finished)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.measure(done, e.admitted, finished)
	done.Outcome, done.Kind = outcome, kind
	return done
}

// unsent decides what becomes of an execution whose exchange did not come to an end.
func (e *execution) unsent(ctx context.Context, err error) (*load.Execution, error) {
	e.mu.Lock()
	why, sent := e.why, e.requests > 0
	e.mu.Unlock()
	if why == nil {
		why = context.Cause(ctx)
	}
	if why == nil {
		why = err
	}
	kind := load.DrainOver
	if !sent {
		kind = load.IntakeClosed
	}
	switch {
	case errors.Is(why, load.ErrIntakeClosed):
		return e.cancelled(load.Cancelled, load.IntakeClosed), nil
	case errors.Is(why, errPoolTimeout):
		return e.cancelled(load.Cancelled, load.ResourceTimeout), nil
	case errors.Is(why, errNotStarted):
		return e.cancelled(load.NotStarted, ""), nil
	case errors.Is(why, errDrainOver):
		return e.cancelled(load.Cancelled, kind), nil
	case errors.Is(why, messages.ErrExists):
		return nil, fmt.Errorf("%w: %w", errLeave, why)
	case errors.Is(why, ErrStopping) && e.r.closed():
		return e.cancelled(load.Cancelled, load.WorkerStopping), nil
	case (errors.Is(why, errLostPlace) || errors.Is(why, lease.ErrLost) || errors.Is(why, load.ErrAdmittedLate)) && e.r.closed():
		return e.cancelled(load.Cancelled, kind), nil
	case errors.Is(why, context.Canceled), errors.Is(why, ErrStopping), errors.Is(why, errLostPlace), errors.Is(why, lease.ErrLost),
		errors.Is(why, load.ErrAdmittedLate):
		return nil, fmt.Errorf("%w: %w", errHandBack, why)
	}
	return nil, fmt.Errorf("%w: %w", errLeave, why)
}

// store makes the record durable. One of an earlier attempt, or a run that takes none any more, is as good.
func (e *execution) store(work context.Context, done *load.Execution) error {
	ctx, cancel := e.r.lasting(work)
	defer cancel()
	err := e.r.x.ports.Executions.PublishExecution(ctx, done)
	if errors.Is(err, messages.ErrInvalid) {
		// What the service said does not fit: the numbers count all the same.
		e.r.log.Warn("the record of an execution is cut", "number", done.Number, "error", err)
		done.Sample, done.Truncated, done.Queries, done.Rejected, done.Message = nil, true, nil, nil, messages.Text(err.Error())
		err = e.r.x.ports.Executions.PublishExecution(ctx, done)
	}
	if errors.Is(err, messages.ErrExists) || errors.Is(err, load.ErrSealed) {
		return nil
	}
	return err
}
