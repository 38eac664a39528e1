package leasetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/lease"
)

// Start makes a semaphore over store, keeps it running, and stops it at the end of the test.
func Start(t *testing.T, store lease.Store, name string, cfg lease.Config) *lease.Semaphore {
	t.Helper()
	s, err := lease.New(store, lease.Name{Service: name}, cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s
}

// MustAcquire waits for a slot, at most a quarter of an hour; on the clock of a bubble that is no time.
func MustAcquire(t *testing.T, s *lease.Semaphore) *lease.Slot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	slot, err := s.Acquire(ctx)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return slot
}

// MustRelease gives a slot back.
func MustRelease(t *testing.T, slot *lease.Slot) {
	t.Helper()
	if err := slot.Release(t.Context()); err != nil {
		t.Errorf("Release: %v", err)
	}
}

func neverMoreHoldersThanSlots(t *testing.T, store lease.Store) {
	const slots, processes, workers, rounds = 3, 4, 4, 6
	var holders [slots]atomic.Int32
	var all atomic.Int32
	var work sync.WaitGroup
	for p := range processes {
		s := Start(t, store, "svc", lease.Config{Slots: slots, Holder: fmt.Sprint("p", p), TTL: 30 * time.Second})
		for range workers {
			work.Go(func() {
				for range rounds {
					slot, err := s.Acquire(t.Context())
					if err != nil {
						t.Errorf("Acquire: %v", err)
						return
					}
					if n := holders[slot.Index()].Add(1); n > 1 {
						t.Errorf("slot %d has %d holders", slot.Index(), n)
					}
					if n := all.Add(1); n > slots {
						t.Errorf("%d holders of %d slots", n, slots)
					}
					if !slot.Valid() {
						t.Error("a slot just acquired is not valid")
					}
					all.Add(-1)
					holders[slot.Index()].Add(-1)
					MustRelease(t, slot)
				}
			})
		}
	}
	work.Wait()
}

// soon is well below the 30 s after which a semaphore reads all slots anyway.
const soon = 5 * time.Second

func aDeadHoldersSlotIsBackSoonAfterItsTTL(t *testing.T, store lease.Store) {
	const ttl = 2 * time.Second
	var dead atomic.Bool
	mortal := NewFaulty(store, func(Call, string) Fault {
		if dead.Load() {
			return Fault{Refuse: ErrInjected}
		}
		return Fault{}
	})
	victim := MustAcquire(t, Start(t, mortal, "svc", lease.Config{Slots: 1, Holder: "victim", TTL: ttl}))
	ctx, cancel := victim.Context(t.Context())
	defer cancel()
	heir := Start(t, store, "svc", lease.Config{Slots: 1, Holder: "heir", TTL: ttl})
	dead.Store(true)
	// A value written now expires behind the dead holder's. How late this process sees it go tells how slow the store and
	// the machine are, and the heir may be as slow.
	reference := mustWatch(t, store, "reference.")
	mark := mustPut(t, store, "reference.0", "tick", 0, ttl)
	var slot *lease.Slot
	var back time.Time
	var waiting sync.WaitGroup
	waiting.Go(func() {
		slot = MustAcquire(t, heir)
		back = time.Now()
	})
	reference.expiry(t, store, "reference.0", mark)
	expired := time.Now()
	waiting.Wait()
	if late := back.Sub(expired); late > soon {
		t.Errorf("the slot was back %v after a value had expired that was written after its holder's death, want at most %v", late, soon)
	}
	if victim.Valid() {
		t.Error("the dead holder's slot is valid while another holds it")
	}
	if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) {
		t.Errorf("the dead holder's context ended with %v, want ErrLost", cause)
	}
	if slot.Generation() <= victim.Generation() {
		t.Errorf("generation %d follows %d; it must grow", slot.Generation(), victim.Generation())
	}
	MustRelease(t, slot)
	MustRelease(t, victim)
}

func aReleasedSlotGoesToAnotherProcessAtOnce(t *testing.T, store lease.Store) {
	cfg := lease.Config{Slots: 1, Holder: "first", TTL: 30 * time.Second}
	slot := MustAcquire(t, Start(t, store, "svc", cfg))
	cfg.Holder = "second"
	second := Start(t, store, "svc", cfg)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		next, err := second.Acquire(ctx)
		if err != nil {
			t.Errorf("Acquire of a released slot: %v", err)
			return
		}
		if err := next.Release(ctx); err != nil {
			t.Errorf("Release: %v", err)
		}
	})
	MustRelease(t, slot)
	waiting.Wait()
}
