package coordinator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// spoken is a Workers whose watches say what a test says, one after the other.
type spoken []func(on func(string, *messages.Worker), caughtUp func())

func (s *spoken) WatchWorkers(_ context.Context, on func(string, *messages.Worker), caughtUp func()) error {
	next := (*s)[0]
	*s = (*s)[1:]
	next(on, caughtUp)
	return errors.New("the watch is lost")
}

func TestAWorkerThatVanishesIsToldFromOneThatStops(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	clock := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	ctx, cancel := context.WithCancel(t.Context())
	c := &Coordinator{log: slog.New(slog.NewTextHandler(&log, nil)), ports: Ports{Now: func() time.Time { return clock }}}
	present := func(want int) {
		t.Helper()
		if who := c.attendance.now(); who == nil || who.Present != want {
			t.Errorf("there are %+v, want %d", who, want)
		}
	}
	word := func() *messages.Worker { return &messages.Worker{Seen: clock} }
	c.ports.Workers = &spoken{func(on func(string, *messages.Worker), caughtUp func()) {
		on("dies", word())
		if c.attendance.now() != nil {
			t.Error("something is told before all have been heard of")
		}
		caughtUp()
		on("stops", word())
		on("stays", word())
		present(3)
		clock = clock.Add(5 * time.Second)
		on("stops", nil)
		on("stays", word())
		present(2)
		clock = clock.Add(10 * time.Second)
		on("dies", nil)
		on("stays", word())
		present(1)
	}, func(_ func(string, *messages.Worker), caughtUp func()) { // while nobody watched, the last one vanished
		clock = clock.Add(time.Minute)
		caughtUp()
		present(0)
		if last := c.attendance.now().Last; clock.Sub(last) != time.Minute {
			t.Errorf("the last word was at %s", last)
		}
		cancel()
	}}
	c.watchWorkers(ctx)
	if c.attendance.now() != nil {
		t.Error("who does not lead says who is there")
	}
	for text, want := range map[string]int{
		"a worker has stopped\" worker=stops": 1, "vanished": 2, "worker=dies silent=15s": 1, "worker=stays silent=1m0s": 1,
	} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("%q is told %d times, want %d:\n%s", text, n, want, log.String())
		}
	}
}

// The server says nothing when the presence of a worker that died expires.
func TestAWorkerOfWhichNothingIsHeardIsGone(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	clock := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	c := &Coordinator{log: slog.New(slog.NewTextHandler(&log, nil)), ports: Ports{Now: func() time.Time { return clock }}}
	c.attendance.begin()
	c.attendance.caughtUp()
	c.heardOf("w1.first", &messages.Worker{Seen: clock})
	for range 3 {
		clock = clock.Add(9 * time.Second)
		c.heardOf("w1.second", &messages.Worker{Seen: clock})
	}
	if who := c.attendance.now(); who.Present != 1 || strings.Count(log.String(), "vanished") != 1 || !strings.Contains(log.String(), "worker=w1 ") {
		t.Errorf("there are %+v; the log says %q", who, log.String())
	}
	clock = clock.Add(time.Minute)
	c.lapse(clock)
	if who := c.attendance.now(); who.Present != 0 || clock.Sub(who.Last) != time.Minute {
		t.Errorf("there are %+v", who)
	}
}
