package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Headers with which the server stores a message only if the last one of another subject has a certain sequence; 0: if there is none.
const (
	headerLastSequence = "Nats-Expected-Last-Subject-Sequence"
	headerLastOf       = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerTTL          = "Nats-TTL"
)

// closedFor is how long it is remembered that a run's intake was closed. The run itself may be removed before: who slept meanwhile with an
// item in hand must not be admitted.
const closedFor = 30 * 24 * time.Hour

// admittedFor is how long after it was stored an admission is good. A run that is stopped ends no sooner than five seconds after, so that
// nothing is sent for it behind its end, also by who was cut off or stood still right when it was admitted.
const admittedFor = 4 * time.Second

const (
	askAgain     = 20 * time.Millisecond // after a refusal that passes
	askAgainMost = time.Second
)

// Admit stores an admission unless the intake of its run is closed: the error then wraps load.ErrIntakeClosed. place is the run's place that
// the caller holds, 0 to load.MaxPlaces-1: the server checks that it is not closed in the moment in which it stores the admission, and refuses
// two at a time that are checked against one place, which is asked again. While the store cannot be reached it asks again until ctx
// ends; what was asked then may be stored, and whoever asks for the same admission again is told the truth. An error that wraps
// messages.ErrExists means that somebody else has admitted the same number and attempt; one that wraps load.ErrAdmittedLate that the admission was
// stored more than four seconds ago, and that its request is not to be sent any more.
func (b *Bus) Admit(ctx context.Context, a *load.Admission, place int) error {
	if place < 0 || place >= load.MaxPlaces {
		return fmt.Errorf("admit %d of %s: %w: place %d, want 0 to %d", a.Number, a.Run, messages.ErrInvalid, place, load.MaxPlaces-1)
	}
	data, err := a.Encode()
	if err != nil {
		return err
	}
	subject, closed := admissionSubject(a.Run, a.Number, a.Attempt, a.Repeat), closedSubject(a.Run, place)
	for wait := askAgain; ; wait = min(2*wait, askAgainMost) {
		msg := nats.NewMsg(subject)
		msg.Data = data
		unless(msg, closed)
		tried := time.Now()
		err := b.refused(b.tryPublish(ctx, msg))
		if err == nil {
			return inTime(a, time.Since(tried))
		}
		if errors.Is(err, messages.ErrConflict) || errors.Is(err, messages.ErrExists) {
			over, settled := b.settleAdmission(ctx, a, subject, closed)
			if over {
				return settled
			}
			err = errors.Join(err, settled)
		} else if isRefusal(err) {
			return fmt.Errorf("admit %d of %s: %w", a.Number, a.Run, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("admit %d of %s: %w", a.Number, a.Run, errors.Join(context.Cause(ctx), err))
		case <-time.After(wait):
		}
	}
}

// unless has the server refuse the message when something is stored under subject.
func unless(msg *nats.Msg, subject string) {
	msg.Header.Set(headerLastSequence, "0")
	msg.Header.Set(headerLastOf, subject)
}

// settleAdmission finds out what a refusal means, which may be the echo of an admission whose answer was lost. over is false when it has
// to be asked again. Whether the place is closed is read first: behind that, no admission is stored any more, and what is read of it stays true.
func (b *Bus) settleAdmission(ctx context.Context, a *load.Admission, subject, closed string) (over bool, err error) {
	shut, err := b.lastOf(ctx, closed)
	if err != nil {
		return false, err
	}
	have, err := b.lastOf(ctx, subject)
	if err != nil {
		return false, err
	}
	switch {
	case have != nil:
		stored, err := load.DecodeAdmission(have.Data)
		if err == nil && stored.Worker == a.Worker && stored.At.Equal(a.At) {
			return true, inTime(a, b.Now().Sub(have.Time))
		}
		return true, fmt.Errorf("admit %d of %s: %w: attempt %d was admitted by somebody else", a.Number, a.Run, messages.ErrExists, a.Attempt)
	case shut != nil:
		return true, fmt.Errorf("admit %d of %s: %w", a.Number, a.Run, load.ErrIntakeClosed)
	}
	return false, nil
}

// inTime tells whether an admission may be used that was stored so long ago.
func inTime(a *load.Admission, ago time.Duration) error {
	if ago > admittedFor {
		return fmt.Errorf("admit %d of %s: %w", a.Number, a.Run, load.ErrAdmittedLate)
	}
	return nil
}

// lastOf asks the leader of LOAD for the last message of a subject, or of those that match it; nil when there is none.
func (b *Bus) lastOf(ctx context.Context, subject string) (*stored, error) {
	return b.askLoad(ctx, map[string]any{"last_by_subj": subject})
}

// firstOf asks for the first one.
func (b *Bus) firstOf(ctx context.Context, subject string) (*stored, error) {
	return b.askLoad(ctx, map[string]any{"seq": 1, "next_by_subj": subject})
}

func (b *Bus) askLoad(ctx context.Context, question map[string]any) (*stored, error) {
	request, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	return b.read(ctx, streamLoad, request)
}

// CloseIntake closes all places of a run. Once it has returned nil, no admission of the run is stored any more, whoever asks and whatever is
// still on its way. It tries until ctx ends; calling it again does no harm.
func (b *Bus) CloseIntake(ctx context.Context, run string) error {
	return b.shut(ctx, run, "close the intake", closedSubject)
}

// SealRun keeps all further records of executions of a run from being stored. Once it has returned nil, none is stored any more.
func (b *Bus) SealRun(ctx context.Context, run string) error {
	return b.shut(ctx, run, "seal the records", sealedSubject)
}

func (b *Bus) shut(ctx context.Context, run, what string, subject func(run string, n int) string) error {
	if err := checkRunID(run); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	text := []byte(b.Now().UTC().Format(time.RFC3339Nano)) // for people
	var all errgroup.Group
	for n := range load.MaxPlaces {
		all.Go(func() error {
			msg := nats.NewMsg(subject(run, n))
			msg.Data = text
			msg.Header.Set(headerTTL, strconv.Itoa(int(closedFor/time.Second)))
			if _, err := b.publish(ctx, msg); err != nil && !errors.Is(err, messages.ErrExists) {
				return fmt.Errorf("%s of %s: place %d: %w", what, run, n, err)
			}
			return nil
		})
	}
	return all.Wait()
}

// IntakeClosed tells whether all places of a run are closed.
func (b *Bus) IntakeClosed(ctx context.Context, run string) (bool, error) {
	if err := checkRunID(run); err != nil {
		return false, err
	}
	for n := range load.MaxPlaces {
		have, err := b.lastOf(ctx, closedSubject(run, n))
		if err != nil {
			return false, fmt.Errorf("look whether the intake of %s is closed: %w", run, err)
		}
		if have == nil {
			return false, nil
		}
	}
	return true, nil
}

// checkRunID refuses what would stand for something else in a subject.
func checkRunID(run string) error {
	if len(run) > load.MaxRunID {
		return fmt.Errorf("run: %w: it has %d characters, at most %d", messages.ErrInvalid, len(run), load.MaxRunID)
	}
	if err := messages.CheckName(run); err != nil {
		return fmt.Errorf("run: %w: %w", messages.ErrInvalid, err)
	}
	return nil
}
