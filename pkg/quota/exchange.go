package quota

import (
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Spend is units that were spent with one answer.
type Spend struct {
	Sent     time.Time
	Answered time.Time
	Units    int64
	Served   bool // the service did what was asked: what such an answer does not say of the quota, it does not say at all
}

// Reading is what one answer says of the pool.
type Reading struct {
	Limit     int64     // units in a window; 0: it says none
	Remaining int64     // units left; negative: it says none
	Reset     time.Time // when units come back; zero: it says none
	At        time.Time // when the answer was read
	Total     int64     // Total of the ledger as the sender knew it when it sent the request, with what the request cost
}

// Report is what a process tells and asks in one exchange.
type Report struct {
	Spends []Spend
	// First numbers the first of Spends among all that the holder has told of, from 1: what was told and not confirmed is told again,
	// and counts once. 0: all are new.
	First    int64
	Readings []Reading
	Refused  time.Time // until when a refusal said that nothing is to be sent; zero: there was none
	Free     int64     // units that were reserved and not used, and are to be kept
	Flying   int64     // units of requests that are not answered yet
	Need     int64     // units that are to be free after the exchange
	Batch    int64     // most units to reserve beyond that, while the pool is far from its end
	// Clock is the ledger's clock as the process has followed it on its monotonic clock since its last exchange. Zero: it has had
	// none, and its wall clock speaks.
	Clock Clock
}

// Clock is an instant of a ledger's clock.
type Clock struct {
	At   time.Time
	Sets int64 // how often the clock had been set back
}

// After is the clock some time later.
func (c Clock) After(d time.Duration) Clock {
	if c.At.IsZero() {
		return c
	}
	return Clock{c.At.Add(d), c.Sets}
}

// Grant is what a process has after an exchange. Times are of its own clock.
type Grant struct {
	Free  int64     // units that it may spend until Until
	Until time.Time // when what it has reserved is over
	Total int64     // of the ledger, for Reading.Total
	Clock Clock     // the ledger's, to be followed
	// Denied says why Free is less than was needed; nil: it is not.
	Denied *Denial
}

// Denial says when to come again.
type Denial struct {
	At       time.Time // when units will be left, as far as it is known
	Soon     bool      // units may be left as soon as somebody's request is answered, or a reservation is given back
	Left     int64     // of the limit, what is held back counted in
	Limit    int64     // 0: not known
	HoldBack int64
}

// MostRefused is the longest time that a refusal is believed.
const MostRefused = 24 * time.Hour

// Exchange books what holder reports, and reserves what it needs until term is over. A holder reports its own spends once. What
// stands reserved for it is replaced. now is read after the account was: else a clock that is followed would run fast. All times of the report but Clock are of the holder's own clock, which says now; where they
// have a monotonic reading, a jump of its wall clock changes nothing.
func (l *Ledger) Exchange(now time.Time, holder string, term time.Duration, report Report) Grant {
	l.follow(now, report.Clock)
	if l.s.Begun == 0 {
		l.s.Begun = l.s.Latest
	}
	have, had := l.take(holder) // first, for it is not over while nobody has noticed
	l.advance()
	if !had {
		report.Free = 0 // its reservation was over
		l.restore(have)
	}
	report = report.counted().shifted(now, l.now())
	told := have.Heard
	if report.First > 0 {
		n := int64(len(report.Spends))
		report.Spends = report.Spends[min(max(0, told+1-report.First), n):]
		told = max(told, counted(report.First-1+n))
	}
	for _, s := range report.Spends {
		l.spend(l.bounded(s.Sent), l.bounded(s.Answered), s.Units)
		l.s.Served = l.s.Served || s.Served
	}
	for _, r := range report.Readings {
		l.read(r)
	}
	if len(report.Readings) == 0 && report.Refused.IsZero() {
		l.served(report.Spends)
	}
	l.refuse(report.Refused)
	report.Need = l.capped(report.Need)
	free := l.fit(report.Free, report.Flying)
	g := Grant{Total: l.s.Total, Clock: Clock{l.now(), l.s.Sets}}
	if free < report.Need {
		g.Denied = l.grant(&free, report)
	}
	g.Free, g.Until = free, now.Add(term)
	if g.Denied != nil {
		g.Denied.At = now.Add(g.Denied.At.Sub(l.now()))
	}
	if !had {
		have.From = l.s.Latest
	}
	l.reserve(messages.QuotaReservation{
		Holder: holder, Free: free, Flying: report.Flying, From: have.From, Until: l.s.Latest + int64(term), Heard: told,
	})
	if free+report.Flying == 0 {
		g.Until = time.Time{}
	}
	return g
}

// counted is the report with numbers that can be counted with.
func (r Report) counted() Report {
	r.First, r.Free, r.Flying, r.Need, r.Batch = counted(r.First), counted(r.Free), counted(r.Flying), counted(r.Need), counted(r.Batch)
	return r
}

// shifted moves what a process tells from its own clock to the ledger's.
func (r Report) shifted(own, ledgers time.Time) Report {
	shift := func(t time.Time) time.Time { return ledgers.Add(t.Sub(own)) }
	r.Spends, r.Readings = slices.Clone(r.Spends), slices.Clone(r.Readings)
	for i := range r.Spends {
		r.Spends[i].Sent, r.Spends[i].Answered = shift(r.Spends[i].Sent), shift(r.Spends[i].Answered)
	}
	for i := range r.Readings {
		r.Readings[i].At = shift(r.Readings[i].At)
		if !r.Readings[i].Reset.IsZero() {
			r.Readings[i].Reset = shift(r.Readings[i].Reset)
		}
	}
	if !r.Refused.IsZero() {
		r.Refused = shift(r.Refused)
	}
	return r
}

// bounded keeps an instant that a process tells within what the ledger's clock has seen.
func (l *Ledger) bounded(t time.Time) int64 {
	since := t.Sub(l.now()) // which cannot overflow
	return max(0, l.s.Latest+int64(min(0, max(-2*l.s.Window, since))))
}

// fit gives up free units that the newest word of the service does not cover.
func (l *Ledger) fit(free, flying int64) int64 {
	if free == 0 {
		return 0
	}
	return max(0, min(free, l.left(l.s.Latest)-flying))
}

// capped is what can be reserved for one request: where answers are larger than the limit, each takes all of it.
func (l *Ledger) capped(need int64) int64 {
	if usable := l.limit() - l.s.HoldBack; l.limit() > 0 && usable > 0 && !l.cfg.Foreign {
		return min(need, usable)
	}
	return need
}

// grant reserves what is needed, and more where there is plenty.
func (l *Ledger) grant(free *int64, report Report) *Denial {
	at := l.s.Latest
	l.s.Reserved = append(l.s.Reserved, messages.QuotaReservation{Flying: report.Flying})
	defer l.take("")
	if l.s.Counts != "requests" {
		l.need = report.Need
		defer func() { l.need = 0 }()
	}
	left := l.left(at)
	l.take("")
	room := l.room()
	if left >= report.Need && room {
		const share = 8 // of what is left, for one process: others need some too
		*free = counted(report.Need + min(report.Batch, (left-report.Need)/share))
		return nil
	}
	l.s.Reserved = append(l.s.Reserved, messages.QuotaReservation{Free: *free, Flying: report.Flying})
	missing := report.Need - *free
	denial := &Denial{At: l.next(missing), Soon: l.mayReturn(at, missing) || left >= report.Need, Limit: l.s.Limit, HoldBack: l.s.HoldBack}
	if shown := l.shown(at); shown != nil {
		denial.Left = *shown
	}
	return denial
}

// read takes in what an answer says.
func (l *Ledger) read(r Reading) {
	at := l.bounded(r.At)
	r.Limit, r.Remaining, r.Total = min(r.Limit, most), min(r.Remaining, most), counted(r.Total)
	if r.Limit > 0 && r.Limit != l.s.Limit {
		l.relimit(r.Limit)
	}
	if r.Limit > 0 {
		l.s.Observed = true
	}
	reset := int64(0)
	if furthest := time.Unix(0, at).Add(l.furthest()); r.Reset.After(time.Unix(0, at)) && !r.Reset.After(furthest) {
		reset = r.Reset.UnixNano()
	}
	if reset > 0 && l.s.Model == Fixed {
		l.s.Phase = reset
	}
	if r.Remaining < 0 {
		return
	}
	word := messages.QuotaReading{Remaining: r.Remaining, Total: r.Total, At: at, Reset: reset}
	have := l.s.Reading
	if have != nil && word.Total < have.Total && have.Remaining-max(0, l.s.Total-have.Total) <= word.Remaining-max(0, l.s.Total-word.Total) {
		return // an answer to an earlier request that came later, and allows more
	}
	l.s.Reading = &word
	if limit := l.limit(); l.s.Model == Bucket && limit > 0 {
		left := min(limit, word.Remaining-max(0, l.s.Total-word.Total))
		l.s.Full = l.empty(l.s.Latest, l.s.Latest, limit-left)
		l.settled()
	}
}

// furthest is how far away a reset can be.
func (l *Ledger) furthest() time.Duration {
	if l.cfg.Foreign {
		return MostRefused
	}
	return l.s.Window + l.s.Window/buckets + 2*time.Second // times of services are rounded
}

// relimit changes the limit; what a bucket has lost stays lost.
func (l *Ledger) relimit(limit int64) {
	var debt int64
	if l.s.Model == Bucket && l.interval() > 0 {
		debt = (max(0, l.s.Full-l.s.Latest) + l.interval() - 1) / l.interval()
	}
	l.s.Limit = limit
	if debt > 0 {
		l.s.Full = l.empty(l.s.Latest, l.s.Latest, debt)
		l.settled()
	}
}

// refuse takes in that the service refused a request.
func (l *Ledger) refuse(until time.Time) {
	if until.IsZero() {
		return
	}
	wait := min(max(0, until.Sub(l.now())), MostRefused)
	l.s.Refused = max(l.s.Refused, l.s.Latest+int64(wait))
	if r := l.s.Reading; r == nil || r.At < l.s.Latest {
		l.s.Reading = &messages.QuotaReading{Total: l.s.Total, At: max(0, min(l.s.Latest, l.s.Refused-1))}
	}
}

// served takes in that requests were served and that the answers said nothing of the quota. Where one was sent after the time
// that a refusal had named, the service's old word is over; our books too, where they had nothing left. At another address than the
// declared one, nothing is known any more where that word had left nothing.
func (l *Ledger) served(spends []Spend) {
	after := func(at int64) bool {
		return slices.ContainsFunc(spends, func(s Spend) bool { return s.Served && l.bounded(s.Sent) >= at })
	}
	if r := l.s.Reading; l.cfg.Foreign && r != nil && r.Remaining < 1 && after(r.At) {
		l.s.Reading, l.s.Observed, l.s.Limit = nil, false, 0
		return
	}
	named := l.named()
	if named == 0 || !after(named) {
		return
	}
	l.s.Reading = nil
	if l.own(l.s.Latest) >= 1 {
		return
	}
	l.s.Spent = slices.DeleteFunc(l.s.Spent, func(s messages.QuotaSpend) bool { return s.To <= named })
	l.s.Full = 0
	l.settled()
}
