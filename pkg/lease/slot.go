package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What ended a slot; the causes of the contexts that Slot.Context makes.
var (
	ErrLost     = errors.New("the lease can no longer be trusted")
	ErrReleased = errors.New("the slot was released")
)

// Slot is the right to have one request in flight, for as long as it is Valid. It renews itself until it is released or
// lost. All methods are safe for concurrent use.
type Slot struct {
	sem        *Semaphore
	term       term
	index      int
	generation uint64
	taken      time.Time // from the store
	holding    Holding
	value      []byte

	ctx    context.Context         //nolint:containedctx // the slot's lifetime, which is what a Slot is
	cancel context.CancelCauseFunc // ends ctx; called by end alone
	hangUp context.CancelFunc      // ends a renewal's calls, which outlive ctx so that Release learns how the last one went
	joined chan struct{}           // closed when the renewing goroutine has returned

	// Guarded by sem.mu.
	revision uint64      // of our last write known to have landed
	renewAt  time.Time   // of the next renewal
	doubt    time.Time   // start of the earliest renewal since then of which nobody knows whether it landed
	deadline time.Time   // trusted until then
	watchdog *time.Timer // ends the slot at the deadline, even when a call of the store hangs
	ended    error       // nil, ErrLost or ErrReleased
}

// newSlot starts the renewals of a lease that was just taken. The caller holds sem.mu; Release waits for the goroutine.
func newSlot(ctx context.Context, s *Semaphore, t term, index int, revision uint64, deadline time.Time, holding Holding, value []byte) *Slot {
	l := &Slot{
		sem: s, term: t, index: index, generation: revision, holding: holding, value: value,
		revision: revision, deadline: deadline, taken: deadline.Add(-t.trust()),
	}
	l.start(ctx, l.renewal())
	return l
}

// start begins the slot's life. The caller holds sem.mu.
func (l *Slot) start(ctx context.Context, next time.Duration) {
	base := context.WithoutCancel(ctx)
	l.joined = make(chan struct{})
	l.ctx, l.cancel = context.WithCancelCause(base)
	calls, hangUp := context.WithCancel(base)
	l.hangUp = hangUp
	l.watchdog = time.AfterFunc(time.Until(l.deadline), func() { l.Valid() })
	l.renewAt = time.Now().Add(next)
	go l.keep(calls, next)
}

// Index is the slot's number, from 0.
func (l *Slot) Index() int { return l.index }

// Generation is the store's revision of the write that took the slot: greater than that of every earlier holder.
func (l *Slot) Generation() uint64 { return l.generation }

// Valid tells whether the lease is trusted at this moment. Ask before each request and before each write that rests on
// the slot; do not keep the answer.
func (l *Slot) Valid() bool {
	l.sem.mu.Lock()
	defer l.sem.mu.Unlock()
	return l.valid()
}

// valid ends the slot when its deadline has passed. The caller holds sem.mu.
func (l *Slot) valid() bool {
	if l.ended == nil && passed(l.deadline) {
		l.lose()
	}
	return l.ended == nil
}

// Context gives a child of parent that also ends with the slot: its cause is then ErrLost or ErrReleased. The caller must
// call the function it gets.
func (l *Slot) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	if !l.Valid() {
		cancel(context.Cause(l.ctx))
	}
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Release ends the slot, waits for its renewals to end, and hands the lease to the next caller of Acquire that waits in this process, or
// sets the key free. A lease is handed on for two seconds at most, so that other processes come to it too. While the store cannot be reached it goes on
// trying until ctx ends or the lease has expired by itself, at most one TTL: give it a ctx with as much time as others may
// have to wait, and run it beside the work. A slot that is lost is left to expire. An error means that the key could not
// be set free, and will expire; a second call does nothing. Pass a ctx of its own when the work's has ended.
func (l *Slot) Release(ctx context.Context) error {
	l.sem.mu.Lock()
	first := l.valid()
	if first {
		l.end(ErrReleased)
	}
	l.sem.mu.Unlock()

	stop := context.AfterFunc(ctx, l.hangUp)
	<-l.joined
	stop()
	l.hangUp()
	if !first || l.handOn(ctx) {
		return nil
	}
	if err := l.giveBack(ctx); err != nil {
		return fmt.Errorf("release slot %s: %w", l.sem.key(l.index), err)
	}
	return nil
}

// How long giveBack rests between two tries.
const (
	giveBackLeast = 100 * time.Millisecond
	giveBackMost  = time.Second
)

// giveBack sets the key free. A put that was refused or not answered is looked into, and repeated while the lease may
// still stand: no renewal follows, so a TTL from now it cannot.
func (l *Slot) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.term.ttl)
	defer cancel()
	l.sem.mu.Lock()
	revision := l.revision
	l.sem.mu.Unlock()
	for pause := giveBackLeast; ; pause = min(2*pause, giveBackMost) {
		freed, failed := l.sem.put(ctx, l.term, l.index, nil, revision)
		if failed == nil {
			l.sem.observe(Entry{Key: l.sem.key(l.index), Revision: freed})
			return nil
		}
		entry, err := l.sem.get(ctx, l.term, l.index)
		if err == nil {
			l.sem.learn(l.index, revision, entry)
			if !l.holding.stands(entry) {
				return nil // it did land, or the lease is somebody else's
			}
			if entry.Revision != revision { // that of a renewal whose answer never came
				revision = entry.Revision
				continue
			}
		}
		l.sem.sleep(ctx, pause/2, pause)
		if ctx.Err() != nil {
			return errors.Join(failed, err)
		}
	}
}

// lose ends the slot without setting it free. The caller holds sem.mu.
func (l *Slot) lose() {
	if l.ended != nil {
		return
	}
	l.end(ErrLost)
	l.hangUp()
	l.sem.rest(l.sem.between(50*time.Millisecond, 250*time.Millisecond))
}

// end closes the slot for use; the view goes on to say that it is held. The caller holds sem.mu.
func (l *Slot) end(cause error) {
	l.ended = cause
	l.watchdog.Stop()
	l.cancel(cause)
	if v := l.sem.view(l.index); v.own == l {
		v.own = nil
	}
}

// passed tells whether either clock has reached the deadline (see the package comment).
func passed(deadline time.Time) bool {
	now := time.Now()
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}
