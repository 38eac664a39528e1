package quota

import (
	"math"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// unknown is as many units as nobody counts.
const unknown = math.MaxInt64 / 4

// begun is the instant since which spends count at an instant: a window before, or where the fixed window began.
func (l *Ledger) begun(at int64) int64 {
	window := int64(l.s.Window)
	if l.s.Model != Fixed || l.s.Phase == 0 {
		return at - window
	}
	since := (at - l.s.Phase) % window
	if since < 0 {
		since += window
	}
	return at - since - 1 // what was spent at the boundary itself belongs to the new window
}

// own is what is left at an instant by our own books, reservations not counted.
func (l *Ledger) own(at int64) int64 {
	if l.cfg.Foreign && l.s.HoldBack == 0 {
		return unknown
	}
	return l.books(at)
}

// books is what is left by our own books, wherever the limit was said.
func (l *Ledger) books(at int64) int64 {
	limit := l.limit()
	if limit == 0 {
		return unknown
	}
	if l.s.Model == Bucket {
		debt := max(0, l.s.Full-at)
		return limit - (debt+l.interval()-1)/l.interval()
	}
	left, begun := limit, l.begun(at)
	for _, s := range l.s.Spent {
		if s.To > begun {
			left = max(-most, left-s.Units)
		}
	}
	return left
}

// told is what is left at an instant by the service's newest word, reservations not counted; ok: its word holds.
func (l *Ledger) told(at int64) (left int64, ok bool) {
	r := l.s.Reading
	if r == nil || l.s.Model == Bucket || l.readingOver(time.Unix(0, at)) { // a bucket is filled to what a reading says at once
		return 0, false
	}
	left = r.Remaining - max(0, l.s.Total-r.Total)
	if l.s.Model == Rolling {
		left += l.returned(r.At, at)
	}
	return left, true
}

// returned counts our units that have come back between two instants, as far as it is sure that they had not before.
func (l *Ledger) returned(from, to int64) int64 {
	var units int64
	window := int64(l.s.Window)
	for _, s := range l.s.Spent {
		if s.From > from-window && s.To <= to-window {
			units = counted(units + s.Units - s.Unsure) // what was not spent does not come back
		}
	}
	return units
}

// readingOver tells whether the service's word no longer holds: all that was spent when it was given has come back.
func (l *Ledger) readingOver(now time.Time) bool {
	r := l.s.Reading
	at := now.UnixNano()
	if l.s.Model == Fixed && r.Reset > r.At && at >= r.Reset {
		return true
	}
	return at >= r.At+int64(l.s.Window)
}

// named is when units come back by the service's word; 0: it has named no time that is newer than its reading.
func (l *Ledger) named() int64 {
	r := l.s.Reading
	if r == nil {
		return 0
	}
	if named := max(l.s.Refused, r.Reset); named > r.At {
		return named
	}
	return 0
}

// asks tells whether one request may ask how the pool stands: the time that the service has named is there, and it has said
// nothing since. Its word outranks what is held back: it costs that one request, and not a window of waiting.
func (l *Ledger) asks(at int64) bool {
	named := l.named()
	return named > 0 && at >= named
}

// free tells whether nothing is known by which a request could be refused: of a pool at another address than the declared one,
// without a time that the service has named.
func (l *Ledger) free() bool { return l.cfg.Foreign && l.s.HoldBack == 0 && l.named() == 0 }

// left is what may be spent at an instant: what is reserved and what is held back are taken off.
func (l *Ledger) left(at int64) int64 {
	if at < l.s.Refused {
		return 0
	}
	free, flying := l.reserved()
	left, ok := l.told(at)
	if !ok {
		left = l.own(at)
	}
	left -= l.s.HoldBack + free + flying
	switch {
	case left >= max(1, l.need):
	case l.free() && !ok:
		return unknown
	case l.free() && free+flying > 0: // the answer to what is under way says more
		return min(left, 0)
	case l.free(): // the service's word is that nothing is left; how soon it returns there is not known, and one request asks
		return max(1, l.need)
	case free+flying == 0 && (l.asks(at) || l.disagrees(at)):
		return max(1, l.need) // of one request
	}
	if l.unheard() {
		if free+flying > 0 {
			return min(left, 0)
		}
		return min(left, max(1, l.need))
	}
	return left
}

// Left is what may be spent now, beside what is reserved.
func (l *Ledger) Left() int64 { return max(0, l.left(l.s.Latest)) }

// unheard tells whether the service has yet to say how the pool stands: one request asks before others are sent, so that a
// limit that is lower than it was declared is known before it is spent.
func (l *Ledger) unheard() bool {
	return l.cfg.Observes && (!l.cfg.Foreign || l.s.HoldBack > 0) && !l.s.Observed && l.s.Reading == nil && !l.s.Served
}

// disagrees tells whether the service's word leaves nothing only because it is not known which of our own requests it had counted,
// while by our books there are some left: with nothing under way, one request gets a word that is exact.
func (l *Ledger) disagrees(at int64) bool {
	if _, ok := l.told(at); !ok || l.cfg.Foreign && l.s.HoldBack == 0 || l.limit() == 0 {
		return false
	}
	return min(l.own(at), l.s.Reading.Remaining)-l.s.HoldBack >= max(1, l.need)
}

// mayReturn tells whether units may be left as soon as what is reserved is given back or answered.
func (l *Ledger) mayReturn(at, units int64) bool {
	free, flying := l.reserved()
	if free+flying == 0 || at < l.s.Refused {
		return false
	}
	if l.asks(at) || l.unheard() || l.free() {
		return true // its answer tells
	}
	left := l.own(at) - flying
	if r := l.s.Reading; r != nil && l.s.Model != Bucket && !l.readingOver(time.Unix(0, at)) {
		left = min(left, r.Remaining+l.returned(r.At, at))
	}
	return left-l.s.HoldBack >= units
}

// next is when units will be left, if nobody else spends any: what is reserved counts as spent now.
func (l *Ledger) next(units int64) time.Time {
	now := l.s.Latest
	trial := Ledger{cfg: l.cfg, s: clone(l.s), need: l.need}
	for _, r := range trial.s.Reserved {
		trial.spend(now, now, r.Free+r.Flying)
	}
	trial.s.Reserved = nil
	for _, at := range trial.moments(units) {
		if at > now && trial.left(at) >= units {
			return time.Unix(0, min(at, now+max(int64(l.furthest()), int64(MostRefused))))
		}
	}
	return time.Unix(0, now+int64(l.s.Window))
}

// moments are the instants at which more may be left than before, in order.
func (l *Ledger) moments(units int64) []int64 {
	window := int64(l.s.Window)
	all := []int64{l.s.Refused}
	if r := l.s.Reading; r != nil {
		all = append(all, r.Reset, r.At+window)
	}
	switch l.s.Model {
	case Bucket:
		if l.interval() > 0 {
			all = append(all, l.s.Full-max(0, l.limit()-l.s.HoldBack-units)*l.interval(), l.s.Full)
		}
	case Fixed:
		if l.s.Phase > 0 {
			all = append(all, l.begun(l.s.Latest)+1+window)
		}
	}
	for _, s := range l.s.Spent {
		all = append(all, s.To+window)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func clone(s *messages.QuotaLedger) *messages.QuotaLedger {
	c := *s
	c.Spent, c.Reserved = slices.Clone(s.Spent), slices.Clone(s.Reserved)
	return &c
}
