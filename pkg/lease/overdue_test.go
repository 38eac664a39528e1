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

// blind tells no changes.
type blind struct{ lease.Store }

func (blind) Watch(ctx context.Context, _ string) (<-chan lease.Entry, error) {
	entries := make(chan lease.Entry)
	context.AfterFunc(ctx, func() { close(entries) })
	return entries, nil
}

func TestADeadHoldersSlotIsFoundThoughTheWatchIsSilent(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"short": 2 * time.Second, "default": 30 * time.Second, "long": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := lease.NewMemory(time.Second) // the markers may be gone when they are looked for
				var down atomic.Bool
				cfg := lease.Config{Slots: 3, Holder: "dead", TTL: ttl}
				dead := leasetest.Start(t, refusing(store, &down), "svc", cfg)
				for range cfg.Slots {
					leasetest.MustAcquire(t, dead)
				}
				down.Store(true)
				cfg.Holder = "heir"
				heir := leasetest.Start(t, blind{store}, "svc", cfg)
				began := time.Now()
				for range cfg.Slots {
					leasetest.MustRelease(t, leasetest.MustAcquire(t, heir))
				}
				if waited := time.Since(began); waited < ttl || waited > ttl+3*time.Second {
					t.Errorf("all were found after %v, want one ttl of %v and little more", waited, ttl)
				}
			})
		})
	}
}

func TestALiveHoldersSlotIsLookedForSeldomThoughTheWatchIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		held := leasetest.MustAcquire(t, start(t, store, 1, "other"))
		var gets atomic.Int32
		s := start(t, leasetest.NewFaulty(blind{store}, func(call leasetest.Call, _ string) leasetest.Fault {
			if call == leasetest.Get {
				gets.Add(1)
			}
			return leasetest.Fault{}
		}), 1, "w")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if slot, err := s.Acquire(ctx); err == nil {
			t.Errorf("acquired slot %d that another holds", slot.Index())
		}
		if n := gets.Load(); n > 200 {
			t.Errorf("%d reads of one slot in an hour, want one each ttl and each 30 to 60 s", n)
		}
		leasetest.MustRelease(t, held)
	})
}

func TestNobodyLooksForASlotThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		put(t, store, "svc.0", "held by the dead", 0, time.Second)
		var gets atomic.Int32
		s := leasetest.Start(t, leasetest.NewFaulty(blind{store}, func(call leasetest.Call, _ string) leasetest.Fault {
			if call == leasetest.Get {
				gets.Add(1)
			}
			return leasetest.Fault{}
		}), "svc", lease.Config{Slots: 1, Holder: "w", TTL: 2 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := s.Acquire(ctx); err == nil { // learns that it is held
			t.Fatal("acquired what another holds")
		}
		learned := gets.Load()
		<-time.After(29 * time.Second)
		if n := gets.Load(); n != learned {
			t.Errorf("%d reads with nobody waiting", n-learned)
		}
		<-time.After(32 * time.Second)
		if state := s.State(); state.InUse != 0 || gets.Load() == learned {
			t.Errorf("after a minute: %+v, want the slot found free by the reading of all", state)
		}
	})
}
