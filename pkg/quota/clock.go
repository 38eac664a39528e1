package quota

import (
	"time"
)

const (
	// ahead is how far the ledger's clock may be ahead of that of a process that comes to it: so far do clocks differ that nobody
	// looks after.
	ahead = 10 * time.Minute
	// earliest and latest bound the wall clocks that are believed at all: one that was never set allows nothing.
	earliest = 1_577_836_800_000_000_000 // the year 2020
	latest   = 6_311_433_600_000_000_000 // the year 2170
)

// follow moves the ledger's clock. Who has followed it since an exchange tells it on, by a monotonic clock: whatever a wall clock does
// meanwhile allows nothing and delays nothing. Who is new tells its wall clock: that the ledger was not used for a while is known in
// no other way. A ledger that is far ahead of it was set by a clock that ran ahead.
func (l *Ledger) follow(now time.Time, clock Clock) {
	at := now.UnixNano()
	switch {
	case l.s.Latest == 0:
		l.s.Latest = min(max(0, at), latest)
	case !clock.At.IsZero() && clock.Sets == l.s.Sets:
		l.s.Latest = max(l.s.Latest, min(clock.At.UnixNano(), latest))
	case !clock.At.IsZero() || at < earliest || at > latest:
		// It was set back meanwhile, and this process has yet to hear of it; or this is no time.
	case l.s.Latest-at > int64(ahead):
		l.setBack(l.s.Latest - at)
	default:
		l.s.Latest = max(l.s.Latest, at)
	}
}

// setBack sets the clock back, and all instants with it: nothing in the account gets older or younger by it.
func (l *Ledger) setBack(by int64) {
	l.s.Sets++
	back := func(at *int64) {
		if *at > 0 {
			*at = max(1, *at-by)
		}
	}
	back(&l.s.Latest)
	back(&l.s.Full)
	back(&l.s.Phase)
	back(&l.s.Refused)
	for i := range l.s.Spent {
		back(&l.s.Spent[i].From)
		back(&l.s.Spent[i].To)
	}
	for i := range l.s.Reserved {
		back(&l.s.Reserved[i].From)
		back(&l.s.Reserved[i].Until)
	}
	if l.s.Reading != nil {
		reading := *l.s.Reading
		back(&reading.At)
		back(&reading.Reset)
		l.s.Reading = &reading
	}
}
