package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

// world is a set of processes that share slots over ways that fail at random, and an observer who sees all of them.
type world struct {
	slots, processes, workers int
	ttl                       time.Duration
	trouble                   int // faults in a hundred calls
	seed                      uint64

	mu       sync.Mutex // guards all below
	random   *rand.Rand
	live     map[*lease.Slot]bool
	stopped  map[int]time.Time // processes that are cut off until then
	acquired int
	wrong    string
}

func (w *world) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// fault draws what happens to one call of a process.
func (w *world) fault(process int) leasetest.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if rest := time.Until(w.stopped[process]); rest > 0 {
		return leasetest.Fault{Late: rest, Lose: w.random.IntN(2) == 0}
	}
	if w.random.IntN(100) >= w.trouble {
		return leasetest.Fault{Slow: time.Duration(w.random.IntN(20)) * time.Millisecond}
	}
	some := time.Duration(w.random.Int64N(int64(w.ttl)))
	switch w.random.IntN(6) {
	case 0:
		return leasetest.Fault{Refuse: leasetest.ErrInjected}
	case 1:
		return leasetest.Fault{Lose: true}
	case 2:
		return leasetest.Fault{Late: some}
	case 3:
		return leasetest.Fault{Slow: some}
	case 4:
		return leasetest.Fault{Late: some / 4, Slow: some / 4}
	default:
		w.stopped[process] = time.Now().Add(some * 2)
		return leasetest.Fault{Late: some * 2}
	}
}

// check counts the slots that somebody trusts at this moment.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := map[int]int{}
	valid := 0
	for slot := range w.live {
		if slot.Valid() {
			valid++
			by[slot.Index()]++
			if by[slot.Index()] > 1 {
				w.wrong = fmt.Sprintf("slot %d is trusted by two", slot.Index())
			}
		}
	}
	if valid > w.slots {
		w.wrong = fmt.Sprintf("%d slots of %d are trusted", valid, w.slots)
	}
}

// work takes and gives back slots until ctx ends. Some holders die: they neither renew nor release.
func (w *world) work(ctx context.Context, s *lease.Semaphore) {
	for ctx.Err() == nil {
		slot, err := s.Acquire(ctx)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.live[slot] = true
		w.acquired++
		w.mu.Unlock()
		w.check()
		work, cancel := slot.Context(ctx)
		select {
		case <-work.Done():
		case <-time.After(time.Duration(w.draw(int(2 * w.ttl)))):
		}
		cancel()
		giveBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_ = slot.Release(giveBack) // what is not given back expires
		cancel()
		w.mu.Lock()
		delete(w.live, slot)
		w.mu.Unlock()
	}
}

// run lets the processes work for some TTLs and gives how many slots were acquired, and what went wrong.
func (w *world) run(t *testing.T) (int, string) {
	t.Helper()
	w.random = rand.New(rand.NewPCG(w.seed, 1))
	w.live, w.stopped = map[*lease.Slot]bool{}, map[int]time.Time{}
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(3 * w.ttl)
		ctx, cancel := context.WithTimeout(t.Context(), 20*w.ttl)
		defer cancel()
		var all sync.WaitGroup
		var ways []*leasetest.Faulty
		for p := range w.processes {
			way := leasetest.NewFaulty(store, func(leasetest.Call, string) leasetest.Fault { return w.fault(p) })
			ways = append(ways, way)
			s, err := lease.New(way, lease.Name{Service: "svc"}, lease.Config{
				Slots: w.slots, Holder: fmt.Sprint("p", p), TTL: w.ttl, Rand: rand.New(rand.NewPCG(w.seed, uint64(p)+2)),
			})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() { _ = s.Run(ctx) })
			for range w.workers {
				all.Go(func() { w.work(ctx, s) })
			}
		}
		for ctx.Err() == nil {
			w.check()
			<-time.After(w.ttl / 97)
		}
		all.Wait()
		for _, way := range ways {
			way.Wait()
		}
	})
	return w.acquired, w.wrong
}

func TestNeverMoreTrustedSlotsThanTheCap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			slots:     rapid.IntRange(1, 4).Draw(rt, "slots"),
			processes: rapid.IntRange(1, 4).Draw(rt, "processes"),
			workers:   rapid.IntRange(1, 4).Draw(rt, "workers"),
			ttl:       time.Duration(rapid.IntRange(1, 30).Draw(rt, "ttl")) * time.Second,
			trouble:   rapid.IntRange(0, 40).Draw(rt, "trouble"),
			seed:      rapid.Uint64().Draw(rt, "seed"),
		}
		acquired, wrong := w.run(t)
		if wrong != "" {
			rt.Fatal(wrong)
		}
		if acquired == 0 {
			rt.Fatal("nobody acquired anything")
		}
	})
}
