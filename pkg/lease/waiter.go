package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// waiter is one caller of Acquire. Its ticket keeps its place in the queue through failed attempts.
type waiter struct {
	ticket uint64
	offers chan offer // holds one
	waited bool       // others may wait for the same slot
}

// offer gives one waiter the sole right of this process to try for a slot.
type offer struct {
	index     int
	revision  uint64
	contended bool
	slot      *Slot // handed on by another caller: there is nothing to try
}

// Acquire waits for a slot, first come first served within this process. The caller must Release it. The error is the
// cause of ctx; a store that cannot be reached is waited for. When ctx ends during an attempt, Acquire takes up to two
// calls of the store longer (each at most 1s) to give back what it may have taken.
func (s *Semaphore) Acquire(ctx context.Context) (*Slot, error) {
	w := &waiter{offers: make(chan offer, 1)}
	for ctx.Err() == nil {
		s.enqueue(w)
		o, ok := s.await(ctx, w)
		if !ok {
			break
		}
		if o.slot != nil {
			return o.slot, nil
		}
		slot, err := s.attempt(ctx, o)
		if slot != nil {
			return slot, nil
		}
		if err != nil && ctx.Err() == nil {
			s.complain(fmt.Errorf("acquire slot of %s: %w", s.name, err))
		}
	}
	return nil, fmt.Errorf("acquire slot of %s: %w", s.name, context.Cause(ctx))
}

func (s *Semaphore) enqueue(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.ticket == 0 {
		s.tickets++
		w.ticket = s.tickets
	}
	at, _ := slices.BinarySearchFunc(s.queue, w, func(a, b *waiter) int { return cmp.Compare(a.ticket, b.ticket) })
	s.queue = slices.Insert(s.queue, at, w)
	s.match()
	w.waited = true // an offer made just now is of a slot that lay free
}

// await gives the next offer, or false when ctx ends first; an offer that came too late goes to the next waiter.
func (s *Semaphore) await(ctx context.Context, w *waiter) (offer, bool) {
	select {
	case o := <-w.offers:
		return o, true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.queue, w); at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
		return offer{}, false
	}
	o := <-w.offers // offers are made under mu, so it is there
	if o.slot != nil {
		return o, true // whoever asked gives it back
	}
	s.view(o.index).busy = false
	s.match()
	return offer{}, false
}

// match pairs waiters with slots that seem free. The caller holds mu.
func (s *Semaphore) match() {
	if time.Now().Before(s.resting) {
		return // rest has arranged for the next call
	}
	for len(s.queue) > 0 {
		index, ok := s.pick()
		if !ok {
			s.awaitRise()
			return
		}
		w := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		v := s.view(index)
		v.busy = true
		w.offers <- offer{index: index, revision: v.revision, contended: w.waited}
	}
}

// spread is how many slots, beside twice those in use, are chosen among. Where the cap is beyond all need, such as for a query without a
// bound, most slots are never touched: each that was is a key that everybody watches and reads from time to time.
const spread = 64

// pick chooses at random among the slots that seem free, so that processes rarely meet. The caller holds mu.
func (s *Semaphore) pick() (chosen int, ok bool) {
	allowed, used := s.allowed(), s.inUse()
	if used >= allowed {
		return 0, false
	}
	free := 0
	for index := range min(allowed, 2*used+spread) {
		if v := s.views[index]; v != nil && (v.held || v.busy) {
			continue
		}
		free++
		if s.random.IntN(free) == 0 {
			chosen = index
		}
	}
	return chosen, free > 0
}
