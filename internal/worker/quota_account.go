package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

const (
	shortestTerm  = 300 * time.Millisecond
	longestTerm   = 5 * time.Second
	termsInWindow = 8
	renewals      = 3 // in a term
	slowTerms     = 4 // exchanges in a term, at least
	unitsAtOnce   = 64
	backSoon      = 10 * time.Second       // a store that is away is expected back
	awayAgain     = time.Minute            // one that stays away is asked again after a pause: how much is left is not known
	idleAfter     = 250 * time.Millisecond // what nobody takes any more is given back
	exchangeWait  = 2 * time.Second        // an answer that is lost costs nothing but time
)

// account is this worker's side of a pool: the units that it has reserved, and what it has not told yet. Requests take units
// from it without a word to the store until they are used up; the store is told of what was spent several times a term.
type account struct {
	w      *Worker
	cfg    quota.Config
	holder string
	term   time.Duration // changed by who has the turn, under mu
	began  time.Time

	shortest time.Duration // term
	turn     chan struct{} // of one: who holds it may exchange

	mu       sync.Mutex // guards all below
	free     int64      // reserved and not used; 0 while an exchange is under way
	flying   int64      // reserved for requests that are not answered
	until    time.Time  // when the reservation is over
	terms    int        // of reservations that were over before they were renewed
	clock    quota.Clock
	heard    time.Time // when the ledger's clock was that
	answers  answers
	renew    time.Time // when the store is to be told
	retry    time.Time // when it is to be told that could not be; zero: it could
	apart    int64     // units that it may spend while the store does not answer: its part of what was left
	failed   time.Time // since when the store has not answered; zero: it has
	took     time.Time // when units were taken last
	looked   time.Time // whether the store still has the account
	asked    bool      // units were taken since the last exchange
	total    int64     // of the ledger
	spends   []quota.Spend
	told     int64 // spends that the store has heard of
	readings []quota.Reading
	refused  time.Time
	known    *messages.QuotaLedger // as the store last had it
	denial   *quota.Denial         // the newest, while nothing has changed since
	deniedAt time.Time
	deniedOf int64         // units that it denied
	alone    *quota.Ledger // what this worker alone has spent, against its share of the limit
	news     chan struct{} // closed and renewed when a request is answered
}

func newAccount(w *Worker, cfg quota.Config, holder string) *account {
	a := &account{w: w, cfg: cfg, holder: holder, began: w.ports.Now(), turn: make(chan struct{}, 1), news: make(chan struct{})}
	a.shortest = min(longestTerm, max(shortestTerm, cfg.Window/termsInWindow))
	a.term = a.shortest
	return a
}

// ticket is the right to send one request, for as long as it holds.
type ticket struct {
	account *account
	ask     ask
	units   int64 // reserved for it
	sent    time.Time
	total   int64 // of the ledger before it
	terms   int   // of the account, when it was taken
	local   bool  // the store was away
}

// take takes what a request is expected to cost, or says why there is none.
func (a *account) take(ctx context.Context, ask ask) (*ticket, *quota.Denial, error) {
	t, alone := a.takeFree(ask, false)
	switch {
	case t != nil:
		return t, nil, nil
	case alone:
		return nil, &quota.Denial{At: a.w.ports.Now(), Soon: true}, nil
	}
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { <-a.turn }()
	if t, _ := a.takeFree(ask, false); t != nil { // somebody else has reserved some meanwhile
		return t, nil, nil
	}
	units := a.expected(ask)
	if denied := a.stillDenied(units); denied != nil {
		return nil, denied, nil
	}
	if a.away() { // one waits for a store that does not answer, and the others go on
		return a.takeAlone(messages.ErrUnreachable, ask, units)
	}
	denied, err := a.exchange(ctx, units)
	switch {
	case err == nil && denied != nil:
		return nil, denied, nil
	case err == nil:
		if t, _ := a.takeFree(ask, true); t != nil {
			return t, nil, nil
		}
		return nil, &quota.Denial{At: a.w.ports.Now(), Soon: true}, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	return a.takeAlone(err, ask, units)
}

// stillDenied is the denial that somebody else has got just now: many wait for the same unit, and the store is asked once.
func (a *account) stillDenied(units int64) *quota.Denial {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.w.ports.Now(); a.denial != nil && units >= a.deniedOf && now.Sub(a.deniedAt) < soonWait/2 && now.Before(a.denial.At) {
		return a.denial
	}
	return nil
}

// takeFree takes what is reserved already. granted: less than is expected will do, for the pool has no more in a window. alone: the
// request is to wait until another one has shown how large an answer is.
func (a *account) takeFree(ask ask, granted bool) (t *ticket, alone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers.awaited(a.cfg, ask) {
		return nil, true
	}
	units := a.answers.expected(a.cfg, ask)
	if granted {
		units = max(1, min(units, a.free))
	}
	if a.free < units || over(a.w.ports.Now(), a.until) {
		return nil, false
	}
	a.free -= units
	return a.ticket(ask, units), false
}

// expected is how many units a request is expected to cost.
func (a *account) expected(ask ask) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers.expected(a.cfg, ask)
}

// ticket makes the right to send a request. The caller holds mu.
func (a *account) ticket(ask ask, units int64) *ticket {
	a.flying += units
	a.asked, a.took = true, a.w.ports.Now()
	a.answers.begin(a.cfg, ask)
	a.w.quotas.rouse()
	total := a.total
	for _, s := range a.spends {
		total += s.Units
	}
	return &ticket{account: a, ask: ask, units: units, sent: a.w.ports.Now(), total: total, terms: a.terms}
}

// holds tells whether the request may be sent now: what was reserved for it has not been over since. A process that stood still for
// longer than its term finds that it has not: others may have been given the units.
func (t *ticket) holds() bool {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.w.ports.Now()
	if t.local {
		return !over(now, t.sent.Add(a.term))
	}
	return t.terms == a.terms && !over(now, a.until)
}

// over tells whether either clock has reached an instant: the monotonic clock of a machine that slept did not count the sleep.
func over(now, until time.Time) bool {
	return !now.Before(until) || !now.Round(0).Before(until.Round(0))
}

// takeAlone takes a unit while the store is away: by what is known of the pool, and within this worker's share of its limit.
func (a *account) takeAlone(cause error, ask ask, units int64) (*ticket, *quota.Denial, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		return nil, nil, fmt.Errorf("quota pool %s: %w", a.cfg.Pool, cause) // nothing is known of it
	}
	now := a.w.ports.Now()
	report := quota.Report{
		Spends: a.spends, Readings: a.readings, Refused: a.refused, Flying: a.flying, Need: units, Clock: a.clock.After(now.Sub(a.heard)),
		First: a.told + 1,
	}
	all := quota.Open(a.cfg, copied(a.known))
	back := now.Sub(a.failed) < backSoon // and then what others left may be had
	again := now.Add(min(a.cfg.Window, awayAgain))
	if a.apart < units && now.Sub(a.failed) < a.cfg.Window {
		return nil, &quota.Denial{At: again, Soon: back, Limit: a.known.Limit, HoldBack: a.cfg.HoldBack}, nil
	}
	if g := all.Exchange(now, a.holder, a.term, report); g.Denied != nil {
		return nil, g.Denied, nil
	}
	if limit := all.State().Limit; limit > 0 {
		share, units := a.share(limit), max(1, units)
		if share == nil {
			return nil, &quota.Denial{At: again, Soon: back, Limit: limit, HoldBack: a.cfg.HoldBack}, nil
		}
		if g := share.Exchange(a.steady(now), a.holder, a.term, quota.Report{Flying: a.flying, Need: units}); g.Denied != nil {
			g.Denied.Soon = g.Denied.Soon || back
			return nil, g.Denied, nil
		}
	}
	a.apart -= units
	t := a.ticket(ask, units)
	t.local = true
	return t, nil, nil
}

// part is this worker's part of what was left of the pool when the store last answered. The caller holds mu.
func (a *account) part(now time.Time) int64 {
	if a.known == nil {
		return 0
	}
	l := quota.Open(a.cfg, copied(a.known))
	l.Exchange(now, a.holder, a.term, quota.Report{
		Spends: a.spends, Readings: a.readings, Refused: a.refused, Flying: a.flying, Clock: a.clock.After(now.Sub(a.heard)), First: a.told + 1,
	})
	return l.Left() / a.w.quotas.workers()
}

// share is the ledger of what this worker alone has spent, with its part of the limit; nil when that is nothing. The caller
// holds mu.
func (a *account) share(limit int64) *quota.Ledger {
	cfg := a.cfg
	cfg.Limit, cfg.HoldBack = max(0, limit-a.cfg.HoldBack)/a.w.quotas.workers(), 0
	cfg.Observes, cfg.Foreign = false, false // the limit is known
	var spent *messages.QuotaLedger
	if a.alone != nil {
		spent = a.alone.State()
	}
	a.alone = quota.Open(cfg, spent)
	if cfg.Limit < 1 {
		return nil
	}
	return a.alone
}

// steady is now on a wall clock that nobody sets.
func (a *account) steady(now time.Time) time.Time { return a.began.Add(now.Sub(a.began)) }

func copied(l *messages.QuotaLedger) *messages.QuotaLedger {
	data, err := l.Encode()
	if err != nil {
		return l
	}
	c, err := messages.DecodeQuotaLedger(data)
	if err != nil {
		return l
	}
	return c
}

// settle books an answer.
func (a *account) settle(t *ticket, units int64, served bool, reading *quota.Reading, refused time.Time) {
	now := a.w.ports.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(t)
	a.answers.seen(a.cfg, t.ask, units)
	spend := quota.Spend{Sent: t.sent, Answered: now, Units: units, Served: served}
	a.spends = append(a.spends, spend)
	if reading != nil {
		r := *reading
		r.At, r.Total = now, t.total+units
		a.readings = append(a.readings, r)
	}
	if refused.After(a.refused) {
		a.refused = refused
	}
	limit := int64(0)
	if a.known != nil {
		limit = a.known.Limit
	}
	a.share(limit) // for its books, which begin before the limit is known
	a.alone.Exchange(a.steady(now), a.holder, a.term, quota.Report{Spends: []quota.Spend{spend}, Flying: a.flying})
	a.tell()
	a.w.quotas.rouse()
}

// refuse books that the service refused a request until a time.
func (a *account) refuse(until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if until.After(a.refused) {
		a.refused = until
	}
	a.denial = nil
	a.w.quotas.rouse()
}

// giveBack returns a unit that was not used.
func (a *account) giveBack(t *ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(t)
	switch {
	case t.local:
		a.apart += t.units
	case t.terms == a.terms:
		a.free += t.units
	}
	a.tell()
}

// end takes a request off those that are not answered. The caller holds mu.
func (a *account) end(t *ticket) {
	a.flying -= t.units
	a.answers.end(t.ask)
}

// tell wakes those who wait for a unit. The caller holds mu.
func (a *account) tell() {
	a.denial = nil
	close(a.news)
	a.news = make(chan struct{})
}

// changed is closed when a request has been answered, or a unit given back.
func (a *account) changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.news
}

// exchange tells the store what was spent and reserves what is needed. The caller has the turn.
func (a *account) exchange(ctx context.Context, need int64) (*quota.Denial, error) {
	asking := ctx
	ctx, cancel := context.WithTimeout(ctx, exchangeWait)
	defer cancel()
	a.mu.Lock()
	begun, clock, heard := a.w.ports.Now(), a.clock, a.heard
	if over(begun, a.until) {
		a.terms++ // what was taken and is not sent yet is lost
	}
	report := quota.Report{
		Spends: a.spends, Readings: a.readings, Refused: a.refused, Free: a.free, Flying: a.flying, Need: need, Batch: unitsAtOnce * max(1, need),
		First: a.told + 1,
	}
	if need == 0 && (!a.asked || a.idle(begun)) {
		report.Free = 0 // others may need them
	}
	known := a.known
	a.free, a.asked, a.spends, a.readings, a.refused = 0, need > 0, nil, nil, time.Time{}
	a.mu.Unlock()

	var grant quota.Grant
	var state *messages.QuotaLedger
	now := begun
	err := a.w.ports.Quotas.UpdateQuota(ctx, a.cfg.Pool, a.cfg.Owner, func(have *messages.QuotaLedger) *messages.QuotaLedger {
		now = a.w.ports.Now() // after the account was read: its clock, as it stands there, is not later than that
		report.Clock = clock.After(now.Sub(heard))
		l := quota.Open(a.cfg, quota.Recovered(have, known))
		grant = l.Exchange(now, a.holder, a.term, report)
		state = l.State()
		return state
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renew = begun.Add(a.term / renewals)
	if err != nil {
		// Whether the store has heard of it is not known, nor what stands reserved: what was reserved and not taken is not spent.
		a.spends = append(report.Spends, a.spends...)
		a.readings = append(report.Readings, a.readings...)
		if a.refused.Before(report.Refused) {
			a.refused = report.Refused
		}
		if asking.Err() == nil { // else it was not the store
			a.retry = a.w.ports.Now().Add(a.term / renewals)
			a.renew = a.retry
			if a.failed.IsZero() {
				a.failed, a.apart = begun, a.part(a.w.ports.Now())
			}
		}
		a.forgetOld(begun)
		return nil, err
	}
	a.told, a.retry, a.failed = a.told+int64(len(report.Spends)), time.Time{}, time.Time{}
	a.free, a.total, a.known, a.until = grant.Free+a.free, grant.Total, state, begun.Add(a.term)
	a.clock, a.heard = grant.Clock, now
	// A store that takes long to answer must not have what it grants be over on its arrival.
	a.term = min(longestTerm, max(a.shortest, slowTerms*a.w.ports.Now().Sub(begun)))
	if need > 0 {
		a.denial, a.deniedAt, a.deniedOf = grant.Denied, now, need
	}
	return grant.Denied, nil
}

// retell looks whether the store still has the account, and tells it what is known of it when not: who has nothing to spend may know
// what nobody else does. It does so for as long as that counts.
func (a *account) retell(ctx context.Context, now time.Time) {
	a.mu.Lock()
	known := a.known
	if known == nil || now.Sub(a.heard) > known.Window || now.Sub(a.looked) < retellEvery {
		a.mu.Unlock()
		return
	}
	a.looked = now
	a.mu.Unlock()
	lost := false
	ctx, cancel := context.WithTimeout(ctx, exchangeWait)
	defer cancel()
	err := a.w.ports.Quotas.UpdateQuota(ctx, a.cfg.Pool, a.cfg.Owner, func(have *messages.QuotaLedger) *messages.QuotaLedger {
		lost = have == nil || have.Begun != known.Begun
		return nil
	})
	if err == nil && lost {
		a.flush(ctx, false)
	}
}

// forgetOld bounds what is kept for a store that is away. The caller holds mu.
func (a *account) forgetOld(now time.Time) {
	const most = 10_000
	if len(a.readings) > 16 {
		a.readings = a.readings[len(a.readings)-16:]
	}
	for len(a.spends) > most || len(a.spends) > 0 && now.Sub(a.spends[0].Answered) > a.cfg.Window {
		a.spends = a.spends[1:]
		a.told++
	}
}

// away tells whether the store has not answered just now.
func (a *account) away() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known != nil && a.w.ports.Now().Before(a.retry)
}

// idle tells whether nobody takes units any more. The caller holds mu.
func (a *account) idle(now time.Time) bool { return a.flying == 0 && now.Sub(a.took) >= idleAfter }

// due tells whether the store is to be told something now; busy: there may be something later.
func (a *account) due(now time.Time) (due, busy bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	busy = a.free+a.flying > 0 || len(a.spends) > 0 || !a.refused.IsZero()
	if a.idle(now) {
		return busy && !now.Before(a.retry), busy
	}
	return busy && !now.Before(a.renew), busy
}

// flush tells the store what it does not know. With last, nothing stays reserved but what is in flight.
func (a *account) flush(ctx context.Context, last bool) {
	select {
	case a.turn <- struct{}{}:
	default:
		if !last {
			return // somebody does so just now
		}
		select {
		case a.turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
	defer func() { <-a.turn }()
	if last {
		a.mu.Lock()
		a.asked = false
		a.mu.Unlock()
	}
	if _, err := a.exchange(ctx, 0); err != nil && ctx.Err() == nil && !errors.Is(err, messages.ErrUnreachable) {
		a.w.log.Warn("what was spent of a quota is not told yet", "pool", a.cfg.Pool, "error", err)
	}
}
