package loadrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

// noWorkerAfter is for how long there is neither news nor a worker that takes part before that is told.
const noWorkerAfter = 5 * time.Second

// neighbours are the runs that this controller works on, by their environments. It is safe for concurrent use.
type neighbours struct {
	mu  sync.Mutex // guards all
	all map[string]*load.Run
}

func (n *neighbours) enter(r *load.Run) (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]*load.Run{}
	}
	n.all[r.ID] = r
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.all, r.ID)
	}
}

// beside gives the other runs in r's environment, as a person would name them.
func (n *neighbours) beside(r *load.Run) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for id, other := range n.all {
		if id != r.ID && other.Environment == r.Environment {
			all = append(all, fmt.Sprintf("%s (%s)", id, other.Profile.ID))
		}
	}
	slices.Sort(all)
	return all
}

// notes are what is to be known of an active run beside what its records say: they are told with its progress, and are in no report.
func (a *account) notes() []load.Diagnostic {
	var all []load.Diagnostic
	if a.noWorker {
		all = append(all, load.Diagnostic{Code: "no_worker", Text: fmt.Sprintf(
			"no worker takes part in it: start one that has the adapter and the credentials of %s; after %s without one the run fails",
			a.at.run.Environment, a.c.cfg.UnservedAfter)})
	}
	if beside := a.c.active.beside(a.at.run); len(beside) > 0 {
		all = append(all, load.Diagnostic{Code: "shared_capacity", Count: len(beside), Text: fmt.Sprintf(
			"it shares the capacity of %s with %s: together they have at most %d in flight",
			a.at.run.Environment, strings.Join(beside, ", "), a.at.run.Capacity.EnvLoadLimit)})
	}
	return all
}

// lookForWorkers notes whether anybody takes part in the run. While there is news somebody does.
func (a *account) lookForWorkers(ctx context.Context) {
	now := a.c.ports.Now()
	none := false
	switch {
	case a.c.ports.Places == nil:
		return
	case now.Sub(a.heard) >= noWorkerAfter:
		if now.Sub(a.lookedWorkers) < lookEvery {
			return
		}
		a.lookedWorkers = now
		held, err := a.placesHeld(ctx)
		if err != nil {
			return
		}
		none = len(held) == 0
	}
	if none != a.noWorker {
		a.noWorker, a.dirty = none, true
	}
	if beside := strings.Join(a.c.active.beside(a.at.run), " "); beside != a.beside {
		a.beside, a.dirty = beside, true
	}
}
