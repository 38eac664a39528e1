package lease

import (
	"context"
	"fmt"
	"time"
)

// overdueAfter is how long after its TTL a holder that does not renew is looked for. It covers a store that expires keys
// in steps of a second.
const overdueAfter = time.Second

// keepLooking reads slots whose expiry is overdue, for as long as somebody here waits for one. Until the next
// reconciliation it is what a word of the watch that never came costs.
func (s *Semaphore) keepLooking(ctx context.Context) {
	tick := time.NewTicker(overdueAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for index, revision := range s.overdue() {
			if err := s.look(ctx, index, revision); err != nil {
				if ctx.Err() == nil {
					s.complain(fmt.Errorf("look for overdue slots of %s: %w", s.name, err))
				}
				break // it is as overdue at the next tick
			}
		}
	}
}

// overdue gives the revisions of slots that others hold and have not renewed for longer than a lease lives.
func (s *Semaphore) overdue() map[int]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if len(s.queue) == 0 || now.Before(s.resting) {
		return nil
	}
	found := map[int]uint64{}
	for index, v := range s.views {
		if v.held && !v.busy && v.own == nil && now.Sub(v.seen) >= s.term.ttl+v.patience() {
			found[index] = v.revision
		}
	}
	return found
}

// patience grows with each look that found the lease standing: its holder may have a longer TTL, or none at all.
func (v *view) patience() time.Duration { return overdueAfter << min(v.looks, 12) }

// look reads one overdue slot.
func (s *Semaphore) look(ctx context.Context, index int, revision uint64) error {
	entry, err := s.get(ctx, s.terms(), index)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.view(index).looks++
	s.mu.Unlock()
	s.learn(index, revision, entry)
	return nil
}
