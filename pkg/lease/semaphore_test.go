package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

// start makes a semaphore with default times. It runs until the bubble's test ends.
func start(t *testing.T, store lease.Store, slots int, holder string) *lease.Semaphore {
	t.Helper()
	return leasetest.Start(t, store, "svc", lease.Config{Slots: slots, Holder: holder})
}

// refusing refuses all calls while down.
func refusing(store lease.Store, down *atomic.Bool) *leasetest.Faulty {
	return leasetest.NewFaulty(store, func(leasetest.Call, string) leasetest.Fault {
		if down.Load() {
			return leasetest.Fault{Refuse: leasetest.ErrInjected}
		}
		return leasetest.Fault{}
	})
}

// nth applies a fault to the nth put, from 1.
func nth(n int32, fault leasetest.Fault) func(leasetest.Call, string) leasetest.Fault {
	var puts atomic.Int32
	return func(call leasetest.Call, _ string) leasetest.Fault {
		if call == leasetest.Put && puts.Add(1) == n {
			return fault
		}
		return leasetest.Fault{}
	}
}

func TestNewRefusesSettingsOutOfBounds(t *testing.T) {
	good := lease.Config{Slots: 1, Holder: "w"}
	for _, c := range []struct {
		name   string
		change func(*lease.Config)
		says   string
	}{
		{"no slots", func(c *lease.Config) { c.Slots = 0 }, "slots is 0"},
		{"too many slots", func(c *lease.Config) { c.Slots = lease.MaxSlots + 1 }, "slots is 10001"},
		{"no holder", func(c *lease.Config) { c.Holder = "" }, "holder"},
		{"long holder", func(c *lease.Config) { c.Holder = strings.Repeat("w", 129) }, "holder"},
		{"ttl of half seconds", func(c *lease.Config) { c.TTL = 1500 * time.Millisecond }, "ttl is 1.5s"},
		{"long ttl", func(c *lease.Config) { c.TTL = 2 * time.Hour }, "ttl is 2h"},
		{"wide margin", func(c *lease.Config) { c.Margin = 15 * time.Second }, "margin is 15s"},
		{"negative margin", func(c *lease.Config) { c.Margin = -1 }, "margin is -1ns"},
		{"negative jitter", func(c *lease.Config) { c.Jitter = -1 }, "jitter is -1ns"},
	} {
		cfg := good
		c.change(&cfg)
		if _, err := lease.New(lease.NewMemory(0), lease.Name{Service: "svc"}, cfg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: New gave %v, want an error that says %q", c.name, err, c.says)
		}
	}
	for _, name := range []lease.Name{{}, {Service: "a.b"}, {Service: "a/b"}, {Service: "a", Capacity: "b.c"}, {Service: "a", Capacity: "b/c"}, {Capacity: "b"}} {
		if _, err := lease.New(lease.NewMemory(0), name, good); err == nil {
			t.Errorf("New accepted the name %q", name)
		}
	}
}

func TestWaitersAreServedInTheOrderTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 1, "w")
		held := leasetest.MustAcquire(t, s)
		var mu sync.Mutex
		var served []int
		var waiters sync.WaitGroup
		for i := range 8 {
			waiters.Go(func() {
				slot := leasetest.MustAcquire(t, s)
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				leasetest.MustRelease(t, slot)
			})
			synctest.Wait()
		}
		if n := s.State().Waiting; n != 8 {
			t.Errorf("%d wait, want 8", n)
		}
		leasetest.MustRelease(t, held)
		waiters.Wait()
		if !slices.IsSorted(served) || len(served) != 8 {
			t.Errorf("served in the order %v", served)
		}
	})
}

func TestASlotIsRenewedForAsLongAsItIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		slot := leasetest.MustAcquire(t, start(t, store, 1, "w"))
		ctx, cancel := slot.Context(t.Context())
		defer cancel()
		<-time.After(time.Hour)
		if !slot.Valid() || ctx.Err() != nil {
			t.Fatalf("after an hour valid is %v and the context says %v", slot.Valid(), context.Cause(ctx))
		}
		e := get(t, store, "svc.0")
		h, err := lease.DecodeHolding(e.Value)
		if err != nil || h.Worker != "w" || h.Lease == "" || h.Since.IsZero() {
			t.Errorf("the key holds %q, %v", e.Value, err)
		}
		if renewals := e.Revision - slot.Generation(); renewals < 320 || renewals > 400 {
			t.Errorf("renewed %d times in an hour, want one each 9 to 11 s", renewals)
		}
		leasetest.MustRelease(t, slot)
		if e := get(t, store, "svc.0"); len(e.Value) != 0 {
			t.Errorf("after the release the key holds %q", e.Value)
		}
		synctest.Wait()
		if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrReleased) {
			t.Errorf("the context ended with %v, want ErrReleased", cause)
		}
		if slot.Valid() {
			t.Error("a released slot is valid")
		}
		leasetest.MustRelease(t, slot)
	})
}

func TestASlotWithoutRenewalsIsLostBeforeTheStoreFreesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		var down atomic.Bool
		began := time.Now()
		slot := leasetest.MustAcquire(t, start(t, refusing(store, &down), 1, "w"))
		ctx, cancel := slot.Context(t.Context())
		defer cancel()
		down.Store(true)
		<-ctx.Done()
		if trusted := time.Since(began); trusted != 25*time.Second {
			t.Errorf("trusted for %v, want ttl less margin, 25s", trusted)
		}
		if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) {
			t.Errorf("ended with %v, want ErrLost", cause)
		}
		down.Store(false)
		leasetest.MustRelease(t, slot)
		if e := get(t, store, "svc.0"); len(e.Value) == 0 {
			t.Error("a lost slot was given back by its former holder")
		}
		next := leasetest.MustAcquire(t, start(t, store, 1, "other"))
		if waited := time.Since(began); waited < 30*time.Second || waited > 31*time.Second {
			t.Errorf("the slot was taken after %v, want soon after 30s", waited)
		}
		leasetest.MustRelease(t, next)
	})
}

// deaf answers the nth put only after its delay, whatever becomes of the context.
type deaf struct {
	lease.Store
	n     int32
	delay time.Duration
	puts  atomic.Int32
}

func (d *deaf) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	written, err := d.Store.Put(ctx, key, value, revision, ttl)
	if d.puts.Add(1) == d.n {
		<-time.After(d.delay)
	}
	return written, err
}

func TestALateAcknowledgementOfARenewalExtendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		slot := leasetest.MustAcquire(t, start(t, &deaf{Store: lease.NewMemory(0), n: 2, delay: 20 * time.Second}, 1, "w"))
		ctx, cancel := slot.Context(t.Context())
		defer cancel()
		<-ctx.Done()
		if trusted := time.Since(began); trusted != 25*time.Second {
			t.Errorf("trusted for %v, want 25s", trusted)
		}
		<-time.After(10 * time.Second) // the acknowledgement has come by now
		if slot.Valid() {
			t.Error("a late acknowledgement brought a lost slot back")
		}
	})
}

func TestALateAcknowledgementOfAnAcquisitionIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		slot := leasetest.MustAcquire(t, start(t, &deaf{Store: lease.NewMemory(0), n: 1, delay: 26 * time.Second}, 1, "w"))
		if waited := time.Since(began); waited < 30*time.Second {
			t.Errorf("acquired after %v, while the untrusted lease stood", waited)
		}
		leasetest.MustRelease(t, slot)
	})
}

func TestAnUnansweredWriteThatLandedIsAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		var losing atomic.Bool
		losing.Store(true)
		way := leasetest.NewFaulty(store, func(call leasetest.Call, _ string) leasetest.Fault {
			return leasetest.Fault{Lose: call == leasetest.Put && losing.Load()}
		})
		slot := leasetest.MustAcquire(t, start(t, way, 1, "w"))
		if e := get(t, store, "svc.0"); e.Revision != slot.Generation() || e.Revision != 1 {
			t.Errorf("generation is %d and the store has revision %d, want the first put adopted", slot.Generation(), e.Revision)
		}
		<-time.After(10 * time.Minute)
		if !slot.Valid() {
			t.Error("lost though every renewal landed")
		}
		leasetest.MustRelease(t, slot)
		if e := get(t, store, "svc.0"); len(e.Value) != 0 {
			t.Errorf("after the release the key holds %q", e.Value)
		}
	})
}

func TestAnAdoptedWriteIsTrustedFromTheStartOfItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		var puts atomic.Int32
		var first time.Time
		way := leasetest.NewFaulty(store, func(call leasetest.Call, _ string) leasetest.Fault {
			if call != leasetest.Put {
				return leasetest.Fault{}
			}
			switch n := puts.Add(1); {
			case n == 2: // the first renewal lands when its caller has given up and read that it has not
				first = time.Now()
				return leasetest.Fault{Late: 1500 * time.Millisecond}
			case n > 3:
				return leasetest.Fault{Refuse: leasetest.ErrInjected}
			}
			return leasetest.Fault{}
		})
		slot := leasetest.MustAcquire(t, start(t, way, 1, "w"))
		ctx, cancel := slot.Context(t.Context())
		defer cancel()
		<-ctx.Done()
		if trusted := time.Since(first); trusted != 25*time.Second {
			t.Errorf("trusted for %v after the start of the renewal that landed, want 25s", trusted)
		}
		way.Wait()
	})
}

func TestAnotherValueOnTheKeyEndsTheSlotAtOnce(t *testing.T) {
	for name, value := range map[string]string{
		"another lease": `{"lease":"x","worker":"w"}`, "no json": "\xff{", "nothing": "", "a giant": strings.Repeat("x", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := lease.NewMemory(0)
				s := start(t, store, 1, "w")
				synctest.Wait()
				slot := leasetest.MustAcquire(t, s)
				ctx, cancel := slot.Context(t.Context())
				defer cancel()
				put(t, store, "svc.0", value, slot.Generation(), 0)
				synctest.Wait()
				if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) || slot.Valid() {
					t.Fatalf("the context says %v and valid is %v, want ErrLost and false", cause, slot.Valid())
				}
				leasetest.MustRelease(t, slot)
				if e := get(t, store, "svc.0"); string(e.Value) != value {
					t.Errorf("the release of a lost slot changed the key to %q", e.Value)
				}
				dead, cancel := slot.Context(t.Context())
				defer cancel()
				if dead.Err() == nil {
					t.Error("a lost slot gave a live context")
				}
			})
		})
	}
}

func TestACancelledAcquireGivesBackWhatItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		s := start(t, leasetest.NewFaulty(store, nth(1, leasetest.Fault{Lose: true})), 1, "w")
		gone := errors.New("the user has gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, gone)
		defer cancel()
		if _, err := s.Acquire(ctx); !errors.Is(err, gone) {
			t.Fatalf("Acquire: %v, want the context's cause", err)
		}
		if e := get(t, store, "svc.0"); e.Revision != 2 || len(e.Value) != 0 {
			t.Errorf("the key holds %q at revision %d, want it free again", e.Value, e.Revision)
		}
		leasetest.MustRelease(t, leasetest.MustAcquire(t, s))
	})
}

func TestAWaiterThatGivesUpLeavesItsTurnToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 1, "w")
		held := leasetest.MustAcquire(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		var waiters sync.WaitGroup
		waiters.Go(func() {
			if slot, err := s.Acquire(ctx); err == nil {
				t.Errorf("a cancelled waiter got slot %d", slot.Index())
			}
		})
		synctest.Wait()
		waiters.Go(func() { leasetest.MustRelease(t, leasetest.MustAcquire(t, s)) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		leasetest.MustRelease(t, held)
		waiters.Wait()
		if state := s.State(); state != (lease.State{Slots: 1}) {
			t.Errorf("at the end: %+v", state)
		}
	})
}

func TestALoweredCapWaitsForItsHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 4, "w")
		var held []*lease.Slot
		for range 4 {
			held = append(held, leasetest.MustAcquire(t, s))
		}
		if err := s.SetSlots(2); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(held, func(a, b *lease.Slot) int { return a.Index() - b.Index() })
		got := make(chan *lease.Slot, 1)
		go func() { got <- leasetest.MustAcquire(t, s) }()
		for i := range 2 { // frees the slots 0 and 1, while 2 and 3 are held
			leasetest.MustRelease(t, held[i])
			<-time.After(time.Minute)
			if len(got) != 0 {
				t.Fatalf("granted with %d others in use under a cap of 2", 3-i)
			}
		}
		if !held[3].Valid() {
			t.Error("a holder above the cap lost its slot")
		}
		leasetest.MustRelease(t, held[3])
		slot := <-got
		if slot.Index() >= 2 {
			t.Errorf("slot %d granted under a cap of 2", slot.Index())
		}
		leasetest.MustRelease(t, slot)
		leasetest.MustRelease(t, held[2])
	})
}

func TestARaisedCapServesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 1, "w")
		if err := s.SetSlots(0); err != nil {
			t.Fatal(err)
		}
		got := make(chan *lease.Slot, 3)
		for range 3 {
			go func() { got <- leasetest.MustAcquire(t, s) }()
		}
		<-time.After(time.Minute)
		if len(got) != 0 {
			t.Fatal("granted under a cap of 0")
		}
		if err := s.SetSlots(3); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			slot := <-got // all three are held at once
			t.Cleanup(func() { _ = slot.Release(context.WithoutCancel(t.Context())) })
		}
		if s.SetSlots(-1) == nil || s.SetSlots(lease.MaxSlots+1) == nil {
			t.Error("a cap out of bounds was accepted")
		}
	})
}

func TestAWatchThatIsLostIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		way := leasetest.NewFaulty(store, nth(0, leasetest.Fault{}))
		s := start(t, way, 1, "w")
		other := leasetest.MustAcquire(t, start(t, store, 1, "other"))
		synctest.Wait()
		way.DropWatches()
		synctest.Wait()
		leasetest.MustRelease(t, other)
		began := time.Now()
		leasetest.MustRelease(t, leasetest.MustAcquire(t, s))
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the slot was found free after %v", waited)
		}
	})
}

func TestWaitersDoNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		put(t, store, "svc.0", "held by a stranger", 0, 0)
		var puts, gets atomic.Int32
		s := start(t, leasetest.NewFaulty(store, func(call leasetest.Call, _ string) leasetest.Fault {
			switch call {
			case leasetest.Put:
				puts.Add(1)
			case leasetest.Get:
				gets.Add(1)
			case leasetest.Watch:
			}
			return leasetest.Fault{}
		}), 1, "w")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var waiters sync.WaitGroup
		for range 100 {
			waiters.Go(func() {
				if _, err := s.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Acquire: %v", err)
				}
			})
		}
		waiters.Wait()
		if puts.Load() > 0 || gets.Load() > 120 {
			t.Errorf("100 waiters cost %d puts and %d gets in an hour, want 0 and one each 30 to 60 s", puts.Load(), gets.Load())
		}
	})
}

func TestAStoreThatIsDownIsWaitedForWithoutHaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		var asked atomic.Int32
		s := start(t, leasetest.NewFaulty(lease.NewMemory(0), func(leasetest.Call, string) leasetest.Fault {
			if !down.Load() {
				return leasetest.Fault{}
			}
			asked.Add(1)
			return leasetest.Fault{Refuse: leasetest.ErrInjected}
		}), 8, "w")
		var work sync.WaitGroup
		for range 50 {
			work.Go(func() { leasetest.MustRelease(t, leasetest.MustAcquire(t, s)) })
		}
		<-time.After(10 * time.Minute)
		// Eight attempts at once in each round of 2.5 to 5 s, a watch as often, and a reconciliation now and then.
		if n := asked.Load(); n == 0 || n > 3000 {
			t.Errorf("asked %d times in 10 minutes", n)
		}
		down.Store(false)
		work.Wait()
	})
}

func TestNoTwoAttemptsOfOneProcessForOneSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under := map[string]int{}
		store := lease.NewMemory(0)
		s := start(t, counting{store, func(key string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if under[key] += by; under[key] > 1 {
				t.Errorf("%d puts of %s at once", under[key], key)
			}
		}}, 3, "w")
		var work sync.WaitGroup
		for range 20 {
			work.Go(func() { leasetest.MustRelease(t, leasetest.MustAcquire(t, s)) })
		}
		work.Wait()
	})
}

// counting tells of puts that begin and end; each takes a while.
type counting struct {
	lease.Store
	count func(key string, by int)
}

func (c counting) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	c.count(key, 1)
	defer c.count(key, -1)
	<-time.After(3 * time.Millisecond)
	return c.Store.Put(ctx, key, value, revision, ttl)
}

func TestKeysThatAreNoSlotsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		for i, key := range []string{"svc.x", "svc.-1", "svc.+0", "svc.00", "svc.", "svc.0.1", fmt.Sprint("svc.", lease.MaxSlots), "svc.99999999999999999999"} {
			put(t, store, key, fmt.Sprint("foreign", i), 0, 0)
		}
		s := start(t, store, 1, "w")
		synctest.Wait()
		if state := s.State(); state != (lease.State{Slots: 1}) {
			t.Errorf("state is %+v", state)
		}
	})
}
