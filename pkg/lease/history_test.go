package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

// What several processes did to slots over faulty ways must have an order in which each slot has one holder at most.
func TestHistoriesOfSlotsAreThoseOfSlots(t *testing.T) {
	const slots, members, callers = 2, 3, 3
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{ttl: 2 * time.Second, trouble: 20, random: rand.New(rand.NewPCG(seed, 3)), stopped: map[int]time.Time{}}
			ctx, cancel := context.WithTimeout(t.Context(), 30*w.ttl)
			defer cancel()
			var history leasetest.History
			store := lease.NewMemory(0)
			var all sync.WaitGroup
			var ways []*leasetest.Faulty
			for p := range members {
				way := leasetest.NewFaulty(store, func(leasetest.Call, string) leasetest.Fault { return w.fault(p) })
				ways = append(ways, way)
				s, err := lease.New(way, lease.Name{Service: "svc"}, lease.Config{
					Slots: slots, Holder: fmt.Sprint("p", p), TTL: w.ttl, Rand: rand.New(rand.NewPCG(seed, uint64(p)+4)),
				})
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() { _ = s.Run(ctx) })
				for c := range callers {
					all.Go(func() {
						history.Work(ctx, p*callers+c, s, func() time.Duration { return time.Duration(w.draw(int(w.ttl / 2))) })
					})
				}
			}
			all.Wait()
			for _, way := range ways {
				way.Wait()
			}
			if n := history.Check(t, slots); n < 20 {
				t.Errorf("seed %d: slots were taken %d times only", seed, n)
			}
		})
	}
}
