package bus

import (
	"context"
	"time"
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

// reckon asks once, and tells whether the server has answered. A difference within what the question itself may have taken is
// left: time should not go to and fro.
func (b *Bus) reckon(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	asked := time.Now()
	stream, err := b.js.Stream(ctx, streamResults)
	if err != nil {
		return false // there is no such stream yet, or nobody answers: that is told elsewhere
	}
	took := time.Since(asked)
	server := stream.CachedInfo().TimeStamp
	if server.IsZero() {
		return false
	}
	server = server.Add(took / 2)
	off := server.Sub(b.Now())
	if off.Abs() <= reckonStep+took {
		return true
	}
	b.log.Warn("this process's time is not the NATS server's, which holds for all; check the clocks", "by", off.Round(time.Millisecond))
	b.reckoned.Store(&reckoning{server: server, local: asked.Add(took)})
	return true
}
