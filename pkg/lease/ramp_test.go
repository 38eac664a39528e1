package lease_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

// granted has n callers wait for slots that they keep, and tells how many have theirs.
func granted(t *testing.T, s *lease.Semaphore, n int) func() int {
	t.Helper()
	have := make(chan struct{}, n)
	for range n {
		go func() {
			slot, err := s.Acquire(t.Context())
			if err != nil {
				return
			}
			have <- struct{}{}
			<-t.Context().Done()
			_ = slot.Release(context.WithoutCancel(t.Context()))
		}()
	}
	return func() int {
		synctest.Wait()
		return len(have)
	}
}

func TestACapThatIsRaisedRises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 2, "w")
		have := granted(t, s, 100)
		if n := have(); n != 2 {
			t.Fatalf("%d slots of 2", n)
		}
		mustSetSlots(t, s, 16)
		for _, at := range []struct {
			after time.Duration
			want  int
		}{{60 * time.Millisecond, 4}, {460 * time.Millisecond, 7}, {500 * time.Millisecond, 10}, {time.Second, 16}, {time.Hour, 16}} {
			<-time.After(at.after)
			if n := have(); n != at.want {
				t.Errorf("%d slots %v later, want %d", n, at.after, at.want)
			}
		}
	})
}

// A cap that is raised a little loses nothing that it had.
func TestACapRisesFromWhatItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 12, "w")
		have := granted(t, s, 100)
		have()
		mustSetSlots(t, s, 16)
		if n := have(); n != 12 {
			t.Errorf("%d slots at once, want 12", n)
		}
		<-time.After(1010 * time.Millisecond)
		if n := have(); n != 14 {
			t.Errorf("%d slots after a second, want 14", n)
		}
		// It is raised again before it was there.
		mustSetSlots(t, s, 100)
		<-time.After(20 * time.Millisecond)
		if n := have(); n != 25 {
			t.Errorf("%d slots at once, want a quarter of 100", n)
		}
		<-time.After(2 * time.Second)
		if n := have(); n != 100 {
			t.Errorf("%d slots after two seconds, want 100", n)
		}
	})
}

func TestACapThatComesDownAndUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 8, "w")
		var held []*lease.Slot
		for range 8 {
			held = append(held, leasetest.MustAcquire(t, s))
		}
		have := granted(t, s, 8)
		mustSetSlots(t, s, 2)
		for i, slot := range held[:6] {
			leasetest.MustRelease(t, slot)
			if n := have(); n != 0 {
				t.Fatalf("%d granted with %d in use under a cap of 2", n, 7-i)
			}
		}
		leasetest.MustRelease(t, held[6])
		<-time.After(20 * time.Millisecond)
		if n := have(); n != 1 {
			t.Fatalf("%d granted with one other in use under a cap of 2", n)
		}
		leasetest.MustRelease(t, held[7])
		mustSetSlots(t, s, 8)
		<-time.After(20 * time.Millisecond)
		if n := have(); n != 2 {
			t.Errorf("%d in use when the cap is up again, want 2", n)
		}
		<-time.After(2 * time.Second)
		if n := have(); n != 8 {
			t.Errorf("%d in use two seconds later, want 8", n)
		}
	})
}

// Two processes that hear of the opening at different times come to the same number together.
func TestAServiceThatOpensIsNotTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		a, b := start(t, store, 16, "a"), start(t, store, 16, "b")
		opened := time.Now()
		a.Ramp(opened)
		b.Ramp(opened)
		inA, inB := granted(t, a, 20), granted(t, b, 20)
		for _, at := range []struct {
			after time.Duration
			want  int
		}{{100 * time.Millisecond, 4}, {920 * time.Millisecond, 10}, {time.Second, 16}} {
			<-time.After(at.after)
			a.Ramp(opened)
			b.Ramp(opened.Add(-time.Minute))
			if n := inA() + inB(); n != at.want {
				t.Errorf("%d slots %v later, want %d", n, at.after, at.want)
			}
		}
	})
}

func TestAServiceThatOpenedLongAgoIsTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, lease.NewMemory(0), 16, "w")
		s.Ramp(time.Time{})
		s.Ramp(time.Now().Add(-3 * time.Second))
		if n := granted(t, s, 20)(); n != 16 {
			t.Errorf("%d slots of 16", n)
		}
	})
}

func TestACapacityHasSlotsOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		queries := start(t, store, 1, "w")
		load, err := lease.New(store, lease.Name{Service: "svc", Capacity: "load"}, lease.Config{Slots: 2, Holder: "w"})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = load.Run(t.Context()) }()
		slot := leasetest.MustAcquire(t, queries)
		defer leasetest.MustRelease(t, slot)
		for range 2 {
			other := leasetest.MustAcquire(t, load)
			t.Cleanup(func() { _ = other.Release(context.WithoutCancel(t.Context())) })
			if key := fmt.Sprintf("svc/load.%d", other.Index()); len(get(t, store, key).Value) == 0 {
				t.Errorf("nobody holds %s", key)
			}
		}
		synctest.Wait()
		if state := queries.State(); state != (lease.State{Slots: 1, InUse: 1, Own: 1}) {
			t.Errorf("the service's own slots: %+v", state)
		}
		if state := load.State(); state != (lease.State{Slots: 2, InUse: 2, Own: 2}) {
			t.Errorf("the capacity's slots: %+v", state)
		}
	})
}

func TestACapBeyondAllNeedTouchesFewSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(0)
		s := start(t, store, lease.MaxSlots, "w")
		for range 1000 {
			slot := leasetest.MustAcquire(t, s)
			if slot.Index() >= 64 {
				t.Fatalf("slot %d with one in use", slot.Index())
			}
			leasetest.MustRelease(t, slot)
		}
		if n := granted(t, s, 500)(); n != 500 {
			t.Errorf("%d slots of 500", n)
		}
	})
}

func TestNamesOfSlotsAreTold(t *testing.T) {
	for _, c := range []struct {
		name lease.Name
		says string
	}{
		{lease.Name{Service: "rivers"}, ""},
		{lease.Name{Service: "rivers", Capacity: "load-1"}, ""},
		{lease.Name{}, "service: "},
		{lease.Name{Service: "a.b"}, "service: "},
		{lease.Name{Service: "a", Capacity: "b/c"}, "capacity: "},
	} {
		if err := c.name.Check(); (err == nil) != (c.says == "") || err != nil && !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}

func mustSetSlots(t *testing.T, s *lease.Semaphore, n int) {
	t.Helper()
	if err := s.SetSlots(n); err != nil {
		t.Fatal(err)
	}
}
