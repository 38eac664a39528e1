package lease

import (
	"errors"
	"fmt"
	"time"
)

// term is for how long a lease is granted. A slot keeps the one it was taken with.
type term struct {
	ttl    time.Duration // the store expires it after this
	margin time.Duration // its holder stops to trust it so much earlier
}

// newTerm fills in the margin that goes with ttl where none is given.
func newTerm(ttl, margin time.Duration) term {
	if margin == 0 {
		margin = min(5*time.Second, ttl/6)
	}
	return term{ttl: ttl, margin: margin}
}

func (t term) validate() error {
	return errors.Join(
		check(t.ttl >= time.Second && t.ttl <= time.Hour && t.ttl%time.Second == 0, "ttl is %v; use whole seconds from 1s to 1h", t.ttl),
		check(t.margin > 0 && t.margin < t.ttl/2, "margin is %v; use more than 0 and less than half of ttl %v", t.margin, t.ttl),
	)
}

// trust is how long a write is trusted, counted from the start of its attempt.
func (t term) trust() time.Duration { return t.ttl - t.margin }

// callTimeout bounds one call of the store, so that several fit between two renewals.
func (t term) callTimeout() time.Duration { return min(time.Second, t.ttl/5) }

// SetTTL changes for how long leases are taken from now on: whole seconds, 1s to 1h. Slots that are held keep the TTL
// that they were taken with, and count under the cap as before. A Margin that Config left at its default follows the TTL.
func (s *Semaphore) SetTTL(ttl time.Duration) error {
	t := newTerm(ttl, s.cfg.Margin)
	if err := t.validate(); err != nil {
		return fmt.Errorf("set ttl of %s: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = t
	return nil
}

// terms gives the term of leases that are taken now.
func (s *Semaphore) terms() term {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}
