package lease

import (
	"context"
	"fmt"
	"time"
)

// renewal draws the time to the next renewal: a third of the TTL, give or take a tenth of that. The caller holds
// sem.mu.
func (l *Slot) renewal() time.Duration {
	third := l.term.ttl / 3
	return l.sem.between(third-third/10, third+third/10)
}

// keep renews the slot until it ends.
func (l *Slot) keep(calls context.Context, next time.Duration) {
	defer close(l.joined)
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-timer.C:
		}
		next := l.renew(calls)
		l.sem.mu.Lock()
		l.renewAt = time.Now().Add(next)
		l.sem.mu.Unlock()
		timer.Reset(next)
	}
}

// renew tries once, and tells when to try next.
func (l *Slot) renew(calls context.Context) time.Duration {
	start := time.Now()
	l.sem.mu.Lock()
	revision, valid := l.revision, l.valid()
	if l.doubt.IsZero() {
		l.doubt = start
	}
	l.sem.mu.Unlock()
	if !valid {
		return 0
	}
	renewed, err := l.sem.put(calls, l.term, l.index, l.value, revision)
	if err == nil {
		return l.extend(renewed, start)
	}
	return l.resolve(calls, revision, err)
}

// resolve finds out what became of a renewal that failed. The lease's id is what tells, not the kind of error.
func (l *Slot) resolve(calls context.Context, revision uint64, failed error) time.Duration {
	entry, err := l.sem.get(calls, l.term, l.index)
	l.sem.mu.Lock()
	ended, doubt := l.ended, l.doubt
	again := l.sem.between(l.term.ttl/60, l.term.ttl/30)
	l.sem.mu.Unlock()
	if ended != nil {
		return 0
	}
	l.sem.complain(fmt.Errorf("renew slot %s: %w", l.sem.key(l.index), failed))
	switch {
	case err != nil:
		return again
	case !l.holding.stands(entry):
		l.sem.mu.Lock()
		l.lose()
		l.sem.mu.Unlock()
		l.sem.learn(l.index, revision, entry)
		return 0
	case entry.Revision > revision:
		return l.extend(entry.Revision, doubt)
	}
	return again // it did not land, or not yet
}

// extend moves the deadline after a write that began at start has landed. One that is known to have landed only after
// the deadline extends nothing, as the store may have expired the key behind it.
func (l *Slot) extend(revision uint64, start time.Time) time.Duration {
	s := l.sem
	s.mu.Lock()
	defer s.mu.Unlock()
	l.revision, l.doubt = revision, time.Time{}
	if v := s.view(l.index); v.own == l && v.revision < revision {
		v.hear(revision)
	}
	if l.valid() {
		l.deadline = start.Add(l.term.trust())
		l.watchdog.Reset(time.Until(l.deadline))
	}
	return l.renewal()
}
