package quota

import (
	"cmp"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// reserved counts the units that processes have reserved, used ones and others.
func (l *Ledger) reserved() (free, flying int64) {
	for _, r := range l.s.Reserved {
		free, flying = free+r.Free, flying+r.Flying
	}
	return free, flying
}

// lapse counts as spent what was reserved and is over. The reservation is remembered for as long as that counts: whoever comes back
// says what became of it.
func (l *Ledger) lapse() {
	for i, r := range l.s.Reserved {
		if r.Until > l.s.Latest || r.Free+r.Flying == 0 {
			continue
		}
		units := counted(r.Free + r.Flying)
		drained := l.enter(r.From, r.Until, units, units)
		r.Free, r.Flying, r.Lapsed = 0, 0, units
		if l.s.Model == Bucket {
			r.Lapsed = drained
		}
		l.s.Reserved[i] = r
	}
	window := int64(l.s.Window)
	l.s.Reserved = slices.DeleteFunc(l.s.Reserved, func(r messages.QuotaReservation) bool { return r.Until <= l.s.Latest-window })
}

// take removes a holder's reservation. had: units stand reserved.
func (l *Ledger) take(holder string) (r messages.QuotaReservation, had bool) {
	i := slices.IndexFunc(l.s.Reserved, func(r messages.QuotaReservation) bool { return r.Holder == holder })
	if i < 0 {
		return r, false
	}
	r = l.s.Reserved[i]
	l.s.Reserved = slices.Delete(l.s.Reserved, i, i+1)
	return r, r.Free+r.Flying > 0
}

// restore takes back that a reservation counted as spent: its holder is there and tells. What the service said meanwhile stands.
func (l *Ledger) restore(r messages.QuotaReservation) {
	if r.Lapsed == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(l.s.Spent, r.Until, func(s messages.QuotaSpend, until int64) int { return cmp.Compare(s.To, until) })
	if i == len(l.s.Spent) {
		return
	}
	units := min(r.Lapsed, l.s.Spent[i].Unsure)
	l.s.Spent[i].Units -= units
	l.s.Spent[i].Unsure -= units
	if l.s.Spent[i].Units == 0 {
		l.s.Spent = slices.Delete(l.s.Spent, i, i+1)
	}
	if l.s.Model == Bucket {
		l.s.Full = max(0, l.s.Full-units*l.interval())
	}
}

// settled forgets what could be restored: a bucket was filled to what the service said.
func (l *Ledger) settled() {
	for i := range l.s.Reserved {
		l.s.Reserved[i].Lapsed = 0
	}
}

// reserve lets a holder have units. Where there is no room for one more, those that are over go first, the oldest before others.
func (l *Ledger) reserve(r messages.QuotaReservation) {
	if r.Free+r.Flying+r.Heard == 0 {
		return
	}
	if len(l.s.Reserved) >= messages.MaxQuotaReservations && !l.makeRoom() {
		l.enter(r.From, l.s.Latest, r.Flying, r.Flying) // nobody is told of them any more
		return
	}
	l.s.Reserved = append(l.s.Reserved, r)
}

// room tells whether one more holder can have units.
func (l *Ledger) room() bool {
	return len(l.s.Reserved) < messages.MaxQuotaReservations ||
		slices.ContainsFunc(l.s.Reserved, func(r messages.QuotaReservation) bool { return r.Free+r.Flying == 0 })
}

func (l *Ledger) makeRoom() bool {
	oldest := -1
	for i, r := range l.s.Reserved {
		if r.Free+r.Flying == 0 && (oldest < 0 || r.Until < l.s.Reserved[oldest].Until) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	l.s.Reserved = slices.Delete(l.s.Reserved, oldest, oldest+1)
	return true
}
