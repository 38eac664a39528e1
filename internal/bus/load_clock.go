package bus

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

const (
	clockEvery  = 30 * time.Second
	clockSoon   = time.Second // as long as the server has not told
	clockProbes = 8           // the shortest one tells most
	// clockDrift is what two clocks may part by, of the time that passes: 100 millionths.
	clockDrift = 10_000
)

// StreamClock is the time by the clock of the server that leads the stream of load runs' items, which stamps when an item was enqueued. Unlike
// Bus.Now it is measured as closely as the way to the server allows, and says how closely. It is safe for concurrent use.
type StreamClock struct {
	bus   *Bus
	known atomic.Pointer[sighting]
}

// sighting is the server's time at an instant of this process's monotonic clock.
type sighting struct {
	server, local time.Time
	within        time.Duration
}

// now is the server's time at an instant, and how uncertain it is.
func (s *sighting) now(at time.Time) (time.Time, time.Duration) {
	passed := at.Sub(s.local)
	return s.server.Add(passed), s.within + passed.Abs()/clockDrift
}

// StreamClock makes a clock. Keep measures it; until then it is as good as Bus.Now.
func (b *Bus) StreamClock() *StreamClock { return &StreamClock{bus: b} }

// At gives the stream's time at an instant of this process, which is best to have a monotonic reading, and by what it was reckoned.
func (c *StreamClock) At(local time.Time) (time.Time, load.Clock) {
	s := c.known.Load()
	if s == nil {
		r := c.bus.reckoned.Load()
		s = &sighting{r.server, r.local, reckonStep}
	}
	at, within := s.now(local)
	return at, load.Clock{Source: "stream", Offset: at.Sub(local.Round(0)), Within: within}
}

// Keep measures the clock now and then, until ctx ends.
func (c *StreamClock) Keep(ctx context.Context) {
	for {
		wait := clockEvery
		if !c.Measure(ctx) {
			wait = clockSoon
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

// Measure asks the server several times, and takes the answer that was there first. It tells whether there was one. What is known already
// stays while it is known better, and is not contradicted: another server may lead by now.
func (c *StreamClock) Measure(ctx context.Context) bool {
	var best *sighting
	for range clockProbes {
		asking, cancel := context.WithTimeout(ctx, 2*time.Second)
		asked := time.Now()
		stream, err := c.bus.js.Stream(asking, streamLoadItems)
		took := time.Since(asked)
		cancel()
		if err != nil {
			break
		}
		server := stream.CachedInfo().TimeStamp
		if server.IsZero() {
			break
		}
		if s := (&sighting{server, asked.Add(took / 2), took/2 + 1}); best == nil || s.within < best.within {
			best = s
		}
	}
	if best == nil {
		return false
	}
	if have := c.known.Load(); have != nil {
		was, within := have.now(best.local)
		if within <= best.within && was.Sub(best.server).Abs() <= within+best.within {
			return true
		}
	}
	c.known.Store(best)
	return true
}
