package lease_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

// countingPuts counts the puts to a store.
func countingPuts(store lease.Store, puts *atomic.Int64) *leasetest.Faulty {
	return leasetest.NewFaulty(store, func(call leasetest.Call, _ string) leasetest.Fault {
		if call == leasetest.Put {
			puts.Add(1)
		}
		return leasetest.Fault{}
	})
}

// works lets a caller take a slot and hold it, again and again until ctx ends, and counts how often.
func works(ctx context.Context, t *testing.T, s *lease.Semaphore, hold time.Duration, done *atomic.Int64) {
	for ctx.Err() == nil {
		slot, err := s.Acquire(ctx)
		if err != nil {
			return
		}
		if !slot.Valid() {
			t.Error("a slot just acquired is not valid")
		}
		time.Sleep(hold)
		if !slot.Valid() {
			t.Error("a slot was lost without trouble")
		}
		if err := slot.Release(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		done.Add(1)
	}
}

func TestASlotIsHandedOnWithinAProcessWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var puts, done atomic.Int64
		s := start(t, countingPuts(lease.NewMemory(0), &puts), 2, "w")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var callers sync.WaitGroup
		for range 6 {
			callers.Go(func() { works(ctx, t, s, 100*time.Millisecond, &done) })
		}
		callers.Wait()
		// Two slots for a minute, each taken anew every two seconds: a take and a release each time.
		if n := puts.Load(); n > 2*2*(60/2+2) {
			t.Errorf("%d puts for %d holds", n, done.Load())
		}
		if n := done.Load(); n < 1150 {
			t.Errorf("%d holds of 100 ms in a minute on two slots", n)
		}
	})
}

func TestAHandedOnSlotIsRenewedAndKeepsItsGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := leasetest.Start(t, lease.NewMemory(0), "svc", lease.Config{Slots: 1, Holder: "w", TTL: time.Second})
		first := leasetest.MustAcquire(t, s)
		generation := first.Generation()
		next := make(chan *lease.Slot)
		go func() { next <- leasetest.MustAcquire(t, s) }()
		synctest.Wait()
		time.Sleep(250 * time.Millisecond) // shortly before its renewal
		leasetest.MustRelease(t, first)
		slot := <-next
		if first.Valid() || slot.Generation() != generation {
			t.Errorf("the first is valid: %v; generation %d, want %d", first.Valid(), slot.Generation(), generation)
		}
		time.Sleep(10 * time.Second)
		if !slot.Valid() {
			t.Error("a slot that was handed on was not renewed")
		}
		leasetest.MustRelease(t, slot)
		if state := s.State(); state.InUse != 0 || state.Own != 0 {
			t.Errorf("%+v after all was released", state)
		}
	})
}

func TestAProcessThatHandsItsSlotsOnLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		var a, b atomic.Int64
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var callers sync.WaitGroup
		for holder, done := range map[string]*atomic.Int64{"a": &a, "b": &b} {
			s := start(t, store, 2, holder)
			for range 8 {
				callers.Go(func() { works(ctx, t, s, 50*time.Millisecond, done) })
			}
		}
		callers.Wait()
		if x, y := a.Load(), b.Load(); min(x, y)*4 < max(x, y) || x+y < 2*5*60*20*95/100 {
			t.Errorf("one process had %d holds and the other %d, of %d", x, y, 2*5*60*20)
		}
	})
}

func TestACallerWhoHasGoneByTheTimeOfTheOfferLosesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 1, "w")
		for range 200 {
			held := leasetest.MustAcquire(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			var callers sync.WaitGroup
			callers.Go(func() {
				if slot, err := s.Acquire(ctx); err == nil {
					leasetest.MustRelease(t, slot)
				}
			})
			synctest.Wait()
			callers.Go(cancel)
			leasetest.MustRelease(t, held)
			callers.Wait()
			cancel()
		}
		leasetest.MustRelease(t, leasetest.MustAcquire(t, s))
	})
}

func TestNoSlotIsHandedOnAboveALoweredCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 2, "w")
		one, two := leasetest.MustAcquire(t, s), leasetest.MustAcquire(t, s)
		got := make(chan *lease.Slot, 1)
		go func() { got <- leasetest.MustAcquire(t, s) }()
		synctest.Wait()
		if err := s.SetSlots(1); err != nil {
			t.Fatal(err)
		}
		leasetest.MustRelease(t, one)
		synctest.Wait()
		select {
		case slot := <-got:
			t.Fatalf("slot %d was handed on while another was held under a cap of 1", slot.Index())
		default:
		}
		leasetest.MustRelease(t, two)
		leasetest.MustRelease(t, <-got)
	})
}
