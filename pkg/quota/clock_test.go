package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/quota"
)

// A wall clock that jumps while its process lives makes no refusal, and no wait that is longer than a window.
func TestAJumpOfAWallClockAllowsNothingAndDelaysNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.jumps = true
		for _, p := range w.processes {
			w.exchange(p, 0) // each begins with a clock that is right
		}
		most := w.cfg.Window + w.cfg.Window/64 + term + time.Millisecond
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				w.denied = nil
				if !w.send(rapid.IntRange(0, len(w.processes)-1).Draw(t, "process")) && w.denied.At.Sub(w.now) > most {
					t.Fatalf("told to wait for %s of a window of %s", w.denied.At.Sub(w.now), w.cfg.Window)
				}
			case 3:
				if n := len(w.flights); n > 0 {
					w.answer(rapid.IntRange(0, n-1).Draw(t, "flight"))
				}
			case 4:
				w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(term/2)).Draw(t, "time")))
				w.renew()
			case 5:
				p := w.processes[rapid.IntRange(0, len(w.processes)-1).Draw(t, "whose clock")]
				p.wall = time.Duration(rapid.Int64Range(-int64(2*time.Hour), int64(2*time.Hour)).Draw(t, "jump"))
			}
		}
	})
}

// runs is a sequence of processes that each live for one exchange with what their wall clocks say.
func runs(l *quota.Ledger, need int64, walls ...time.Duration) (granted int64, last quota.Grant) {
	for _, wall := range walls {
		last = l.Exchange(at(wall), "w", time.Second, quota.Report{Need: need})
		granted += last.Free
		l.Exchange(at(wall), "w", time.Second, quota.Report{Spends: []quota.Spend{{Sent: at(wall), Answered: at(wall), Units: last.Free}}, Clock: last.Clock})
	}
	return granted, last
}

func TestProcessesThatBeginWithAWrongClock(t *testing.T) {
	t.Parallel()
	const ahead = 23 * time.Hour
	for name, c := range map[string]struct {
		walls   []time.Duration
		granted int64
		wait    time.Duration // of the last one, at most
	}{
		"one ahead frees a window once":              {[]time.Duration{0, ahead, time.Second, 2 * time.Second, 3 * time.Second}, 20, time.Hour + time.Minute},
		"time goes on after it":                      {[]time.Duration{0, ahead, time.Second, 62 * time.Minute}, 30, 0},
		"one behind is no time":                      {[]time.Duration{0, -9 * time.Minute, time.Second}, 10, time.Hour + time.Minute},
		"a clock that was never set frees nothing":   {[]time.Duration{0, at(0).Sub(time.Unix(100, 0)) * -1, time.Second}, 10, time.Hour + time.Minute},
		"a clock of another age frees nothing":       {[]time.Duration{0, 200 * 365 * 24 * time.Hour, time.Second}, 10, time.Hour + time.Minute},
		"a little ahead, and the right ones wait so": {[]time.Duration{0, 9 * time.Minute, time.Second, 2 * time.Second}, 10, time.Hour + 10*time.Minute},
	} {
		l := quota.Open(hourly(10), nil)
		granted, last := runs(l, 10, c.walls...)
		wait := time.Duration(0)
		if last.Denied != nil {
			wait = last.Denied.At.Sub(at(c.walls[len(c.walls)-1]))
		}
		if granted != c.granted || wait > c.wait || c.wait > 0 && last.Denied == nil {
			t.Errorf("%s: %d granted and a wait of %s, want %d and at most %s", name, granted, wait, c.granted, c.wait)
		}
		if _, err := l.State().Encode(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who lives through it, whatever its wall clock says, keeps time for all that come later.
func TestAClockThatWasSetBackIsNotSetForwardByThoseWhoFollowedIt(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(10), nil)
	fast := l.Exchange(at(48*time.Hour), "fast", time.Second, quota.Report{Need: 10})
	l.Exchange(at(48*time.Hour), "fast", time.Second, quota.Report{Spends: []quota.Spend{{Sent: at(48 * time.Hour), Answered: at(48 * time.Hour), Units: 10}}, Clock: fast.Clock})
	for i := range 5 {
		now := time.Duration(i) * time.Second
		if g := ask(l, now); g.Free > 0 {
			t.Fatalf("one who is right is granted %d", g.Free)
		}
		fast = l.Exchange(at(48*time.Hour+now), "fast", time.Second, quota.Report{Need: 1, Clock: fast.Clock.After(time.Second)})
		if fast.Free > 0 {
			t.Fatalf("one who is ahead is granted %d", fast.Free)
		}
	}
}
