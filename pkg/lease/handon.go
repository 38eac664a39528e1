package lease

import (
	"context"
	"slices"
	"time"
)

// tenure is how long a lease is handed on within a process. It spares two writes to the store for each request, and ends soon enough for
// a process that has none: what is set free then is anybody's who waits, by chance.
const tenure = 2 * time.Second

// handOn gives the lease of a slot that was just released, and whose renewals have ended, to the next caller of Acquire that waits here.
// The generation stays: it tells leases apart, and this is the same one. It is false when nobody waits, when the lease may not
// be what it seems, or when it is to be set free.
func (l *Slot) handOn(ctx context.Context) bool {
	s := l.sem
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(l.index)
	switch {
	case len(s.queue) == 0 || !l.doubt.IsZero() || time.Since(l.taken) >= tenure:
		return false
	case l.index >= s.allowed() || s.inUse() > s.allowed() || l.term != s.term:
		return false // the cap has come down or is still to rise, or leases are for another time now
	case v.revision != l.revision || !v.held || passed(l.deadline):
		return false
	}
	next := &Slot{
		sem: s, term: l.term, index: l.index, generation: l.generation, taken: l.taken, holding: l.holding, value: l.value,
		revision: l.revision, deadline: l.deadline,
	}
	next.start(ctx, max(0, time.Until(l.renewAt)))
	v.own = next
	w := s.queue[0]
	s.queue = slices.Delete(s.queue, 0, 1)
	w.offers <- offer{index: l.index, slot: next}
	return true
}
