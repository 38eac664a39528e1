package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	troubleLeast = 100 * time.Millisecond
	troubleMost  = 5 * time.Second
)

// attempt tries once for the slot of an offer. It gives nil and no error when another has it.
func (s *Semaphore) attempt(ctx context.Context, o offer) (*Slot, error) {
	slot, err := s.try(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view(o.index).busy = false
	switch {
	case err == nil:
		s.troubles = 0
	case ctx.Err() == nil:
		pause := min(troubleLeast<<min(s.troubles, 10), troubleMost)
		s.troubles++
		s.rest(s.between(pause/2, pause))
	}
	s.match()
	return slot, err
}

func (s *Semaphore) try(ctx context.Context, o offer) (*Slot, error) {
	if ctx.Err() != nil || o.contended && !s.stagger(ctx, o) {
		return nil, nil
	}
	start := time.Now()
	t := s.terms()
	holding := Holding{Lease: s.cfg.NewID(), Worker: s.cfg.Holder, Since: start.UTC()}
	value, err := holding.encode()
	if err != nil {
		return nil, err
	}
	revision, err := s.put(ctx, t, o.index, value, o.revision)
	if err != nil {
		revision, err = s.resolve(ctx, t, o, holding, err)
		if err != nil || revision == 0 {
			return nil, err
		}
	}
	return s.grant(ctx, t, o.index, revision, start, holding, value)
}

// stagger waits a random moment and tells whether the slot is still as it was offered.
func (s *Semaphore) stagger(ctx context.Context, o offer) bool {
	s.sleep(ctx, 0, s.cfg.Jitter)
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(o.index)
	return ctx.Err() == nil && v.revision == o.revision && !v.held
}

// resolve finds out what became of a put that failed. It gives the revision to adopt when the put has landed after all,
// and neither revision nor error when the slot has moved on.
func (s *Semaphore) resolve(ctx context.Context, t term, o offer, holding Holding, failed error) (uint64, error) {
	settle := context.WithoutCancel(ctx)
	entry, err := s.get(settle, t, o.index)
	if err != nil {
		return 0, errors.Join(failed, err) // if it did land, it will expire
	}
	s.learn(o.index, o.revision, entry)
	if holding.stands(entry) {
		if ctx.Err() == nil {
			return entry.Revision, nil
		}
		// Nobody waits for it any more. Should this fail too, it will expire.
		revision, err := s.put(settle, t, o.index, nil, entry.Revision)
		if err == nil {
			s.observe(Entry{Key: s.key(o.index), Revision: revision})
		}
		return 0, err
	}
	if errors.Is(failed, ErrConflict) && entry.Revision != o.revision {
		return 0, nil
	}
	return 0, failed
}

// grant makes the slot, unless its deadline has passed or the watch has already seen it go; then the store's expiry
// will free it.
func (s *Semaphore) grant(ctx context.Context, t term, index int, revision uint64, start time.Time, holding Holding, value []byte) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(index)
	if v.revision > revision {
		return nil, nil
	}
	v.hear(revision)
	v.held = true
	deadline := start.Add(t.trust())
	if passed(deadline) {
		return nil, fmt.Errorf("put %s: acknowledged %v after the attempt began, too late to trust", s.key(index), time.Since(start))
	}
	slot := newSlot(ctx, s, t, index, revision, deadline, holding, value)
	v.own = slot
	return slot, nil
}
