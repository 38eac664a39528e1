package loadrun

import (
	"context"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
)

// lookEvery is how often it is looked which places of a run are held, when that is asked for.
const lookEvery = time.Second

// lookForLost finds out which of the executions that were admitted are in flight no more, as their worker is gone: each that a worker has in
// flight holds a place of the run, and the places of one that died have ended with their leases. Of a worker that holds fewer places than it has
// executions, the ones that began first are lost, when they are older than a lease. Where places cannot be read, nothing changes.
func (a *account) lookForLost(ctx context.Context) {
	now := a.c.ports.Now()
	if a.c.ports.Places == nil || now.Sub(a.lookedLost) < lookEvery {
		return
	}
	a.lookedLost = now
	old := now.Add(-a.leaseTTL)
	byWorker := map[string][]*load.Admission{}
	aged := false
	for _, m := range a.flying {
		byWorker[m.Worker] = append(byWorker[m.Worker], m)
		aged = aged || m.At.Before(old)
	}
	lost := map[int]bool{}
	if aged {
		held, err := a.placesHeld(ctx)
		if err != nil {
			return
		}
		for worker, all := range byWorker {
			slices.SortFunc(all, func(a, b *load.Admission) int { return a.At.Compare(b.At) })
			for _, m := range all[:max(0, len(all)-held[worker])] {
				if m.At.Before(old) {
					lost[m.Number] = true
				}
			}
		}
	}
	if len(lost) != len(a.lost) {
		a.dirty = true
		if len(lost) > len(a.lost) {
			a.log.Warn("executions are lost with their worker; they are given to others", "executions", len(lost))
		}
	}
	a.lost = lost
}

// placesHeld counts the places of the run that are held, by worker.
func (a *account) placesHeld(ctx context.Context) (map[string]int, error) {
	name := lease.Name{Service: a.at.run.Environment, Capacity: load.PlacesOf(a.at.id)}
	held := map[string]int{}
	for n := range load.MaxPlaces {
		place, err := a.c.ports.Places.Get(ctx, name.Slot(n))
		if err != nil {
			return nil, err
		}
		if len(place.Value) == 0 {
			continue
		}
		holding, err := lease.DecodeHolding(place.Value)
		if err != nil {
			return nil, err
		}
		held[holding.Worker]++
	}
	return held, nil
}
