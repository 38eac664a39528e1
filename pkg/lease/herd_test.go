package lease_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

func TestOfManyProcessesThatWaitForASlotFewTryForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		var puts atomic.Int64
		held := leasetest.MustAcquire(t, start(t, store, 1, "first"))
		const processes = 30
		var callers sync.WaitGroup
		for i := range processes {
			s := start(t, countingPuts(store, &puts), 1, "w"+strconv.Itoa(i))
			callers.Go(func() { leasetest.MustRelease(t, leasetest.MustAcquire(t, s)) })
		}
		synctest.Wait()
		puts.Store(0)
		leasetest.MustRelease(t, held)
		callers.Wait()
		// One to take it and one to give it back for each; a few met.
		if n := puts.Load(); n > 3*processes {
			t.Errorf("%d puts until each of %d processes had had the slot", n, processes)
		}
	})
}

func TestASlotWhoseRenewalIsInDoubtIsNotHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		s := leasetest.Start(t, refusing(lease.NewMemory(0), &down), "svc", lease.Config{Slots: 1, Holder: "w", TTL: time.Second})
		first := leasetest.MustAcquire(t, s)
		next := make(chan *lease.Slot, 1)
		go func() { next <- leasetest.MustAcquire(t, s) }()
		synctest.Wait()
		down.Store(true)
		time.Sleep(450 * time.Millisecond) // the renewal is due after a third of a second, and is refused
		if !first.Valid() {
			t.Fatal("the slot is lost already")
		}
		down.Store(false)
		leasetest.MustRelease(t, first)
		slot := <-next
		if slot.Generation() == first.Generation() {
			t.Error("it was handed on, though nobody knows what is stored of it")
		}
		leasetest.MustRelease(t, slot)
	})
}
