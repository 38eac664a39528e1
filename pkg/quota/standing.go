package quota

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Standing is how the pool stands at now, as people are shown it. The account is not changed.
func Standing(stored *messages.QuotaLedger, now time.Time) messages.QuotaStanding {
	cfg := Config{Pool: stored.Pool, Owner: stored.Owner, Counts: stored.Counts, Model: stored.Model, Limit: stored.Limit, Window: stored.Window, HoldBack: stored.HoldBack}
	l := Open(cfg, clone(stored))
	updated := l.now()
	l.follow(now, Clock{})
	l.advance()
	at := l.s.Latest
	shown := func(t time.Time) time.Time { return now.Add(t.Sub(l.now())).UTC() } // on the clock of who is shown it
	standing := messages.QuotaStanding{
		Pool: stored.Pool, Owner: stored.Owner, Counts: stored.Counts, Limit: stored.Limit, Observed: stored.Observed, Left: l.shown(at),
		HoldBack: stored.HoldBack, Window: int64((stored.Window + time.Second - 1) / time.Second), Model: stored.Model, Updated: shown(updated),
	}
	named := l.s.Refused
	if r := l.s.Reading; r != nil {
		named = max(named, r.Reset)
	}
	if named > at {
		standing.Reset = shown(time.Unix(0, named))
	}
	begun := l.begun(at)
	for _, s := range l.s.Spent {
		if s.To > begun {
			standing.Since = shown(time.Unix(0, s.From))
			break
		}
	}
	switch {
	case l.left(at) >= 1:
	case l.mayReturn(at, 1):
		standing.Next = shown(time.Unix(0, l.freed()))
	default:
		standing.Next = shown(l.next(1))
	}
	return standing
}

// freed is when the first reservation is over.
func (l *Ledger) freed() int64 {
	at := l.s.Latest
	for _, r := range l.s.Reserved {
		if r.Free+r.Flying > 0 && (at == l.s.Latest || r.Until < at) {
			at = r.Until
		}
	}
	return at
}

// shown is what is left at an instant as people are told it: what our books say, where the service's newest word does not contradict
// them. Of some requests that word leaves open whether they are counted in it. Nil: the limit is not known.
func (l *Ledger) shown(at int64) *int64 {
	if l.s.Limit == 0 {
		return nil // a number would be of nothing
	}
	if at < l.s.Refused {
		return new(int64(0))
	}
	_, flying := l.reserved()
	left := l.books(at)
	if least, ok := l.told(at); ok {
		if left < least || left > least+max(0, l.s.Total-l.s.Reading.Total) {
			left = least
		}
	}
	if left >= unknown/2 {
		return nil
	}
	return new(max(0, left-flying))
}
