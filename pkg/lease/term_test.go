package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

func TestAChangedTTLHoldsForLeasesTakenFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		var down atomic.Bool
		s := start(t, refusing(store, &down), 2, "w")
		began := time.Now()
		before := leasetest.MustAcquire(t, s)
		if err := s.SetTTL(3 * time.Second); err != nil {
			t.Fatal(err)
		}
		after := leasetest.MustAcquire(t, s)
		old, cancel := before.Context(t.Context())
		defer cancel()
		young, cancel := after.Context(t.Context())
		defer cancel()
		down.Store(true)
		<-young.Done()
		if trusted := time.Since(began); trusted != 2500*time.Millisecond {
			t.Errorf("the new one is trusted for %v, want 2.5s", trusted)
		}
		<-old.Done()
		if trusted := time.Since(began); trusted != 25*time.Second {
			t.Errorf("the old one is trusted for %v, want 25s", trusted)
		}
		<-time.After(4 * time.Second)
		if e := get(t, store, "svc.0"); len(e.Value) == 0 && before.Index() == 0 {
			t.Error("the store expired the old lease before its ttl")
		}
	})
}

func TestAChangedTTLKeepsTheCapOverOldAndNewLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 2, "w")
		old := leasetest.MustAcquire(t, s)
		if err := s.SetTTL(2 * time.Second); err != nil {
			t.Fatal(err)
		}
		young := leasetest.MustAcquire(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if third, err := s.Acquire(ctx); err == nil {
			t.Errorf("slot %d granted beside %d and %d under a cap of 2", third.Index(), old.Index(), young.Index())
		}
		if !old.Valid() || !young.Valid() {
			t.Errorf("after ten minutes the old one is valid: %v, the new one: %v", old.Valid(), young.Valid())
		}
		leasetest.MustRelease(t, old)
		leasetest.MustRelease(t, young)
	})
}

func TestATTLOutOfBoundsIsRefusedAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := leasetest.Start(t, lease.NewMemory(0), "svc", lease.Config{Slots: 1, Holder: "w", Margin: 2 * time.Second})
		for _, ttl := range []time.Duration{0, -time.Second, 1500 * time.Millisecond, 2 * time.Hour, 4 * time.Second} {
			if err := s.SetTTL(ttl); err == nil {
				t.Errorf("a ttl of %v was accepted with a margin of 2s", ttl)
			}
		}
		slot := leasetest.MustAcquire(t, s)
		<-time.After(time.Minute)
		if !slot.Valid() {
			t.Error("the slot was lost")
		}
		leasetest.MustRelease(t, slot)
	})
}
