package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

func TestASlotReleasedInAnOutageIsFreeSoonAfterIt(t *testing.T) {
	for name, fault := range map[string]leasetest.Fault{
		"refused at once": {Refuse: leasetest.ErrInjected}, "not answered": {Late: time.Hour, Lose: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				store := lease.NewMemory(0)
				way := leasetest.NewFaulty(store, func(leasetest.Call, string) leasetest.Fault {
					if down.Load() {
						return fault
					}
					return leasetest.Fault{}
				})
				slot := leasetest.MustAcquire(t, start(t, way, 1, "w"))
				other := start(t, store, 1, "other")
				synctest.Wait()
				down.Store(true)
				var release sync.WaitGroup
				release.Go(func() { leasetest.MustRelease(t, slot) })
				<-time.After(3 * time.Second)
				down.Store(false)
				over := time.Now()
				leasetest.MustRelease(t, leasetest.MustAcquire(t, other))
				if waited := time.Since(over); waited > 3*time.Second {
					t.Errorf("another had the slot %v after the outage, want at most two calls and a pause", waited)
				}
				release.Wait()
				way.Wait()
			})
		})
	}
}

func TestGivingBackEndsWithItsContextOrTheLease(t *testing.T) {
	for name, c := range map[string]struct{ patience, want time.Duration }{
		"its context": {2 * time.Second, 2 * time.Second},
		"the lease":   {time.Hour, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				slot := leasetest.MustAcquire(t, start(t, refusing(lease.NewMemory(0), &down), 1, "w"))
				down.Store(true)
				ctx, cancel := context.WithTimeout(t.Context(), c.patience)
				defer cancel()
				began := time.Now()
				if err := slot.Release(ctx); !errors.Is(err, leasetest.ErrInjected) {
					t.Errorf("Release: %v, want what the store said", err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
			})
		})
	}
}

func TestAFloodOfErrorsIsToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var mu sync.Mutex
		var told []time.Time
		counted := false
		s := leasetest.Start(t, refusing(lease.NewMemory(0), &down), "svc", lease.Config{
			Slots: 8, Holder: "w", TTL: 4 * time.Second, OnError: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, time.Now())
				counted = counted || strings.Contains(err.Error(), "more errors")
			},
		})
		var slots []*lease.Slot
		for range 8 {
			slots = append(slots, leasetest.MustAcquire(t, s))
		}
		down.Store(true)
		<-time.After(time.Minute)
		down.Store(false)
		for _, slot := range slots {
			leasetest.MustRelease(t, slot)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(told) == 0 || len(told) > 61 || !counted {
			t.Errorf("told %d errors in a minute, with a count of those left out: %v", len(told), counted)
		}
		for i := 1; i < len(told); i++ {
			if gap := told[i].Sub(told[i-1]); gap < time.Second {
				t.Errorf("told again after %v", gap)
			}
		}
	})
}
