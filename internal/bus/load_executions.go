package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// PublishExecution stores the record of an execution. It tries until ctx ends. The error wraps messages.ErrExists when the number and attempt
// has another record, and load.ErrSealed when the run takes none any more. A sample that the server's messages cannot carry is left out, and
// the record says that it is cut.
func (b *Bus) PublishExecution(ctx context.Context, e *load.Execution) error {
	data, err := e.Encode()
	if err != nil {
		return err
	}
	if len(data) > b.inline {
		short := *e
		short.Sample, short.Truncated = nil, true
		if data, err = short.Encode(); err != nil {
			return err
		}
	}
	subject, sealed := executionSubject(e.Run, e.Number, e.Attempt), sealedSubject(e.Run, e.Number%load.MaxPlaces)
	for wait := askAgain; ; wait = min(2*wait, askAgainMost) {
		msg := nats.NewMsg(subject)
		msg.Data = data
		unless(msg, sealed)
		again, err := b.publish(ctx, msg)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, messages.ErrConflict), errors.Is(err, messages.ErrExists):
			over, settled := b.settleExecution(ctx, e, subject, sealed, again)
			if over {
				return settled
			}
			err = errors.Join(err, settled)
		default:
			return fmt.Errorf("store the record of %d of %s: %w", e.Number, e.Run, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("store the record of %d of %s: %w", e.Number, e.Run, errors.Join(context.Cause(ctx), err))
		case <-time.After(wait):
		}
	}
}

// settleExecution finds out what a refusal means. again: an earlier try may be what is stored.
func (b *Bus) settleExecution(ctx context.Context, e *load.Execution, subject, sealed string, again bool) (over bool, err error) {
	shut, err := b.lastOf(ctx, sealed)
	if err != nil {
		return false, err
	}
	have, err := b.lastOf(ctx, subject)
	if err != nil {
		return false, err
	}
	switch {
	case have != nil:
		stored, err := load.DecodeExecution(have.Data)
		if again && err == nil && stored.Worker == e.Worker && stored.Taken.Equal(e.Taken) && stored.Finished.Equal(e.Finished) {
			return true, nil
		}
		return true, fmt.Errorf("store the record of %d of %s: %w: attempt %d has one", e.Number, e.Run, messages.ErrExists, e.Attempt)
	case shut != nil:
		return true, fmt.Errorf("store the record of %d of %s: %w", e.Number, e.Run, load.ErrSealed)
	}
	return false, nil
}

// Execution reads the record of a number, the first that was stored. The error wraps messages.ErrNotFound when there is none.
func (b *Bus) Execution(ctx context.Context, run string, number int) (*load.Execution, error) {
	if err := checkRunID(run); err != nil {
		return nil, err
	}
	have, err := b.firstOf(ctx, executionsAt(run, number))
	if err == nil && have == nil {
		err = messages.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("record of %d of %s: %w", number, run, err)
	}
	return openExecution(have.Subject, have.Data)
}

// TrackRun is loadrun.Executions': it begins at the first record of the run, and gives all in the order in which they were stored.
func (b *Bus) TrackRun(ctx context.Context, run string, on load.RunTracker) error {
	if err := checkRunID(run); err != nil {
		return err
	}
	return b.follow(ctx, streamLoad, recordsOf(run), false, on.CaughtUp, func(msg jetstream.Msg) {
		meta, err := msg.Metadata()
		if err != nil {
			return // not a delivery; follow has refused it before
		}
		switch kind := loadKind(msg.Subject()); kind {
		case "admission":
			a, err := openAdmission(msg.Subject(), msg.Data())
			if err != nil {
				on.Bad(meta.Sequence.Stream, err)
				return
			}
			on.Admission(a, meta.Sequence.Stream)
		case "execution":
			e, err := openExecution(msg.Subject(), msg.Data())
			if err != nil {
				on.Bad(meta.Sequence.Stream, err)
				return
			}
			on.Execution(e, meta.Sequence.Stream, meta.Timestamp)
		}
	})
}

// openAdmission reads what is stored under a subject, and refuses what belongs under another.
func openAdmission(subject string, data []byte) (*load.Admission, error) {
	a, err := load.DecodeAdmission(data)
	if err == nil && subject != admissionSubject(a.Run, a.Number, a.Attempt, a.Repeat) {
		err = fmt.Errorf("%w: an admission of %d of %s under %s", messages.ErrInvalid, a.Number, a.Run, subject)
	}
	return a, err
}

func openExecution(subject string, data []byte) (*load.Execution, error) {
	e, err := load.DecodeExecution(data)
	if err == nil && subject != executionSubject(e.Run, e.Number, e.Attempt) {
		err = fmt.Errorf("%w: the record of %d of %s under %s", messages.ErrInvalid, e.Number, e.Run, subject)
	}
	return e, err
}
