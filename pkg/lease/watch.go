package lease

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	reconcileLeast = 30 * time.Second
	reconcileMost  = 60 * time.Second
	rewatchLeast   = 100 * time.Millisecond
	rewatchMost    = 5 * time.Second
)

// Run keeps watch over the slots until ctx ends, and returns nil then, after all it started has ended. It survives every
// error of the store. Slots that are held live on without it. Run once per semaphore.
func (s *Semaphore) Run(ctx context.Context) error {
	doubt := make(chan struct{}, 1) // a watch was lost: changes may have been missed
	var parts sync.WaitGroup
	parts.Go(func() { s.keepReconciled(ctx, doubt) })
	parts.Go(func() { s.keepLooking(ctx) })
	s.keepWatching(ctx, doubt)
	parts.Wait()
	return nil
}

func (s *Semaphore) keepWatching(ctx context.Context, doubt chan<- struct{}) {
	pause := rewatchLeast
	for first := true; ctx.Err() == nil; first = false {
		opened := time.Now()
		if err := s.watch(ctx, doubt, first); err != nil {
			s.complain(err)
		}
		if time.Since(opened) > rewatchMost {
			pause = rewatchLeast
		}
		s.sleep(ctx, pause/2, pause)
		pause = min(2*pause, rewatchMost)
	}
}

// watch follows one watch to its end. It does nothing but take note, as a watch must be drained at once.
func (s *Semaphore) watch(ctx context.Context, doubt chan<- struct{}, first bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	entries, err := s.store.Watch(ctx, s.name+".")
	if err != nil {
		return fmt.Errorf("watch slots of %s: %w", s.name, err)
	}
	if !first {
		select {
		case doubt <- struct{}{}:
		default: // is in doubt already
		}
	}
	for entry := range entries {
		s.observe(entry)
	}
	return nil
}

func (s *Semaphore) keepReconciled(ctx context.Context, doubt <-chan struct{}) {
	for {
		s.mu.Lock()
		timer := time.NewTimer(s.between(reconcileLeast, reconcileMost))
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-doubt:
		case <-timer.C:
		}
		timer.Stop()
		s.reconcile(ctx)
	}
}

// reconcile reads every known slot, for a watch may miss that one became free. It stops at the first error, since the
// next round comes anyway.
func (s *Semaphore) reconcile(ctx context.Context) {
	s.mu.Lock()
	t := s.term
	known := make(map[int]uint64, len(s.views))
	for index, v := range s.views {
		known[index] = v.revision
	}
	s.mu.Unlock()
	for index, revision := range known {
		entry, err := s.get(ctx, t, index)
		if err != nil {
			if ctx.Err() == nil {
				s.complain(fmt.Errorf("reconcile slots of %s: %w", s.name, err))
			}
			return
		}
		s.learn(index, revision, entry)
	}
}

// observe takes note of a change that was watched. What is older than the view is not news.
func (s *Semaphore) observe(e Entry) {
	index, ok := s.indexOf(e.Key)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.view(index); e.Revision > v.revision {
		s.note(v, e)
	}
}

// learn takes note of an authoritative read. It replaces what was known when the read began even by a lower revision,
// as the store may have forgotten the key; but a slot held here is not lost for an answer that is behind.
func (s *Semaphore) learn(index int, before uint64, e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(index)
	if e.Revision > v.revision || v.revision == before && e.Revision < before && v.own == nil {
		s.note(v, e)
	}
}

// note changes a view. The caller holds mu.
func (s *Semaphore) note(v *view, e Entry) {
	v.hear(e.Revision)
	v.held = len(e.Value) > 0
	if v.own != nil && !v.own.holding.stands(e) {
		v.own.lose()
	}
	if !v.held {
		s.match()
	}
}

// hear takes note of a write. The caller holds Semaphore.mu.
func (v *view) hear(revision uint64) {
	v.revision, v.seen, v.looks = revision, time.Now(), 0
}

// sleep waits a random time, and less when ctx ends.
func (s *Semaphore) sleep(ctx context.Context, low, high time.Duration) {
	s.mu.Lock()
	timer := time.NewTimer(s.between(low, high))
	s.mu.Unlock()
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
