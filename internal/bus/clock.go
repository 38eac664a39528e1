package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	reckonEvery = 30 * time.Second       // the server is asked for its time
	reckonSoon  = time.Second            // and again, as long as it has not told
	reckonStep  = 250 * time.Millisecond // that is taken for the way of the question
)

// reckoning is the server's time at an instant of this process's monotonic clock.
type reckoning struct{ server, local time.Time }

// Now is the time by the NATS server's clock: the one clock that all processes share, so that an instant that one of them
// stores, such as until when a gate is closed, means the same to the others, whatever their own clocks say. Between two
// questions to the server it runs with the monotonic clock, so a wall clock that is set changes nothing. Until the server has
// told its time for the first time, it begins with this machine's. It is safe for concurrent use.
func (b *Bus) Now() time.Time {
	r := b.reckoned.Load()
	return r.server.Add(time.Since(r.local)).Local()
}

// keepTime asks the server for its time until the bus is closed.
func (b *Bus) keepTime(ctx context.Context) {
	for {
		wait := reckonEvery
		if !b.reckon(ctx) {
			wait = reckonSoon
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// Drift asks the server for its time: this machine's clock is so much before it (negative: behind it), to within half of what the
// question took. The error wraps messages.ErrUnreachable where nobody tells: there are no streams of Braid, or no answer.
func (b *Bus) Drift(ctx context.Context) (time.Duration, error) {
	server, _, err := b.ask(ctx)
	if err != nil {
		return 0, err
	}
	return time.Now().Round(0).Sub(server), nil
}

// ask gives the server's time as it is when the answer is here, and what the question took.
func (b *Bus) ask(ctx context.Context) (server time.Time, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	asked := time.Now()
	stream, err := b.js.Stream(ctx, streamResults)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return time.Time{}, 0, fmt.Errorf("%w: the stream %s, which tells it, is not there", messages.ErrUnreachable, streamResults)
	case err != nil:
		return time.Time{}, 0, fmt.Errorf("%w: the server's time: %w", messages.ErrUnreachable, err)
	}
	took = time.Since(asked)
	server = stream.CachedInfo().TimeStamp
	if server.IsZero() {
		return time.Time{}, 0, fmt.Errorf("%w: the server tells no time", messages.ErrUnreachable)
	}
	return server.Add(took / 2), took, nil
}

// reckon asks once, and tells whether the server has answered. A difference within what the question itself may have taken is
// left: time should not go to and fro.
func (b *Bus) reckon(ctx context.Context) bool {
	server, took, err := b.ask(ctx)
	if err != nil {
		return false // there is no such stream yet, or nobody answers: that is told elsewhere
	}
	ours := time.Now()
	off := server.Sub(b.Now())
	if off.Abs() <= reckonStep+took {
		return true
	}
	b.log.Warn("this process's time is not the NATS server's, which holds for all; check the clocks", "by", off.Round(time.Millisecond))
	b.reckoned.Store(&reckoning{server: server, local: ours})
	return true
}
