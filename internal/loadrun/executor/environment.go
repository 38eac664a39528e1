package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	defaultPool  = 20 // LR-2.2
	loadCapacity = "load"
	usualTTL     = 30 * time.Second // of a place, where the environment's service says none
)

// environment has the places that are shared by all runs there.
type environment struct {
	x      *Executor
	name   string
	load   *lease.Semaphore // of all load: never more than env_load_limit (LR-2.5)
	shared *lease.Semaphore // of all requests: the service's own slots, which ordinary items take too (LR-2.8)

	mu   sync.Mutex // guards all below
	runs map[string]demand
	svc  *messages.Service
}

// demand is what one run says of its environment.
type demand struct {
	limit  int              // of all load there
	places *lease.Semaphore // its own
}

// enter makes the environment of a run, or finds it, and counts the run, with its own places, among those there. The environment's places are
// looked after until background ends, by tending.
func (x *Executor) enter(
	background context.Context, tending *sync.WaitGroup, r *load.Run, where *load.Environment, places *lease.Semaphore,
) (*environment, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	env := x.environments[r.Environment]
	if env == nil {
		pool := defaultPool
		if where.Pool != nil {
			pool = *where.Pool
		}
		env = &environment{x: x, name: r.Environment, runs: map[string]demand{}, svc: x.services[r.Environment]}
		var err error
		if env.load, err = x.semaphore(lease.Name{Service: r.Environment, Capacity: loadCapacity}, r.Capacity.EnvLoadLimit); err == nil {
			env.shared, err = x.semaphore(lease.Name{Service: r.Environment}, pool)
		}
		if err != nil {
			return nil, err
		}
		x.environments[r.Environment] = env
		for _, slots := range []*lease.Semaphore{env.load, env.shared} {
			tending.Go(func() { _ = slots.Run(background) }) // it only ends with background
		}
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	env.runs[r.ID] = demand{r.Capacity.EnvLoadLimit, places}
	env.fit()
	return env, nil
}

// leave takes a run out of the count.
func (env *environment) leave(run string) {
	env.mu.Lock()
	defer env.mu.Unlock()
	delete(env.runs, run)
	env.fit()
}

// size takes in how many requests may be in flight at the environment's service.
func (env *environment) size(svc *messages.Service) {
	env.mu.Lock()
	defer env.mu.Unlock()
	env.svc = svc
	env.fit()
}

// fit sets the numbers of places, and for how long they are granted: where runs were started with different limits, the lowest holds. All
// places are for the time of the service's slots: a process that lives renews them, however long its request takes, and those of one that died
// are free soon. The caller holds mu.
func (env *environment) fit() {
	if len(env.runs) == 0 {
		return
	}
	limit, ttl := load.MaxPlaces, usualTTL
	var errs []error
	if env.svc != nil {
		ttl = max(time.Second, env.svc.LeaseTTL)
		errs = append(errs, env.shared.SetSlots(env.svc.Slots))
	}
	for _, d := range env.runs {
		limit = min(limit, d.limit)
		errs = append(errs, d.places.SetTTL(ttl))
	}
	errs = append(errs, env.load.SetSlots(limit), env.load.SetTTL(ttl), env.shared.SetTTL(ttl))
	if err := errors.Join(errs...); err != nil {
		env.x.log.Error("places not changed", "environment", env.name, "error", err)
	}
}

func (x *Executor) semaphore(name lease.Name, slots int) (*lease.Semaphore, error) {
	log := x.log.With("places", name.String())
	s, err := lease.New(x.ports.Leases, name, lease.Config{
		Slots: max(1, slots), Holder: x.cfg.ID, TTL: usualTTL,
		OnError: func(err error) {
			if errors.Is(err, lease.ErrConflict) {
				log.Debug("another worker was faster at a place", "error", err)
				return
			}
			log.Warn("lease", "error", err)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("places of load runs: %w", err)
	}
	return s, nil
}
