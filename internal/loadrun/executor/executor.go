package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Why work is cut; the causes of its contexts.
var (
	ErrStopping  = errors.New("the worker is stopping")
	errDrainOver = errors.New("the run's time to drain is over")
	errLostPlace = errors.New("a place that was held for the request is lost")
)

// Config of an executor. The zero value of each field but ID is its default.
type Config struct {
	ID          string        // names the worker in leases and records; required, a messages name
	Concurrency int           // most executions at once, of all runs; 64
	Grace       time.Duration // after a stop, how long requests in flight may take; 20 s
	Commit      time.Duration // longest time to store a record while the store is away; 2 min
	Beat        time.Duration // between signs of life for an item in hand; 2 s
}

func (c Config) withDefaults() Config {
	if c.Concurrency <= 0 {
		c.Concurrency = 64
	}
	if c.Grace == 0 {
		c.Grace = 20 * time.Second
	}
	if c.Commit == 0 {
		c.Commit = 2 * time.Minute
	}
	if c.Beat == 0 {
		c.Beat = 2 * time.Second
	}
	return c
}

// Executor carries out the executions of all load runs whose environments it can speak to.
type Executor struct {
	cfg   Config
	ports Ports
	log   *slog.Logger
	room  *semaphore.Weighted // Concurrency tokens, one per execution in hand

	tended  context.Context //nolint:containedctx // of the environments' places, set by Run
	tending sync.WaitGroup

	mu           sync.Mutex // guards all below
	environments map[string]*environment
	services     map[string]*messages.Service
}

// New makes an executor. Run starts it.
func New(cfg Config, ports Ports) (*Executor, error) {
	cfg = cfg.withDefaults()
	if err := messages.CheckName(cfg.ID); err != nil {
		return nil, fmt.Errorf("worker id: %w", err)
	}
	if ports.Observer == nil {
		ports.Observer = unobserved{}
	}
	return &Executor{
		cfg: cfg, ports: ports, log: ports.Log.With("worker", cfg.ID), room: semaphore.NewWeighted(int64(cfg.Concurrency)),
		environments: map[string]*environment{}, services: map[string]*messages.Service{},
	}, nil
}

// Run executes until ctx ends. Then it takes no more, lets what is in flight finish for the grace period, hands the rest back, and
// returns nil. It survives the loss of its connections.
func (x *Executor) Run(ctx context.Context) error {
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	background, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	x.tended = background
	var parts sync.WaitGroup
	defer parts.Wait()
	defer x.tending.Wait()
	defer hangUp()
	parts.Go(func() { x.ports.Clock.Keep(background) })
	parts.Go(func() {
		x.keep(background, "services", func(ctx context.Context) error {
			return x.ports.Records.WatchServices(ctx, x.hearService)
		})
	})
	parts.Go(func() {
		x.keep(ctx, "look-ups", func(ctx context.Context) error {
			return x.ports.Errands.ServeLookUps(ctx, x.serves, x.lookUp)
		})
	})
	served := make(chan struct{})
	go func() {
		defer close(served)
		x.serveRuns(ctx, work, background)
	}()
	<-ctx.Done()
	wait := x.cfg.Grace
	if errors.Is(context.Cause(ctx), messages.ErrStoreFull) {
		wait = 0 // nothing that finishes now could be kept
	}
	grace := time.NewTimer(wait)
	defer grace.Stop()
	select {
	case <-served:
	case <-grace.C:
		cut(ErrStopping)
		<-served
	}
	return nil
}

// serveRuns works on each run that is active, until ctx ends. What is going on with a run is heard for as long as something of it is in
// hand, which may be after ctx has ended.
func (x *Executor) serveRuns(ctx, work, background context.Context) {
	hearing, deaf := context.WithCancel(background)
	known := &runs{x: x, all: map[string]*run{}}
	var watching sync.WaitGroup
	watching.Go(func() {
		x.keep(hearing, "load runs", func(hearing context.Context) error {
			seen := map[string]bool{} // used by this watch alone
			return x.ports.Records.WatchRuns(hearing, func(id string, record *load.Run, _ uint64) {
				seen[id] = true
				known.hear(id, record, func(r *run) { r.serve(ctx, work, background) })
			}, func() { known.missing(seen) })
		})
	})
	<-ctx.Done()
	known.stop()
	known.serving.Wait()
	deaf()
	watching.Wait()
}

// runs are those that this worker takes part in.
type runs struct {
	x       *Executor
	serving sync.WaitGroup

	mu      sync.Mutex // guards all below
	all     map[string]*run
	stopped bool
}

// hear takes in the record of a run, nil when it was removed, and begins to serve one that is new.
func (k *runs) hear(id string, record *load.Run, serve func(*run)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := record == nil || record.State == load.Ended
	if have := k.all[id]; have != nil {
		have.hear(record)
		if over {
			delete(k.all, id)
		}
		return
	}
	if over || k.stopped {
		return
	}
	r := newRun(k.x, record)
	k.all[id] = r
	k.serving.Go(func() { serve(r) })
}

// missing ends those that were removed while nobody watched.
func (k *runs) missing(seen map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, r := range k.all {
		if !seen[id] {
			r.hear(nil)
			delete(k.all, id)
		}
	}
}

// stop lets no more begin.
func (k *runs) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
}

// hearService takes in how many requests may be in flight at a service.
func (x *Executor) hearService(svc *messages.Service, err error) {
	if err != nil {
		x.log.Error("a service record cannot be read", "error", err)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.services[svc.Name] = svc
	if env := x.environments[svc.Name]; env != nil {
		env.size(svc)
	}
}

// serves tells whether the environment's look-ups are this worker's business.
func (x *Executor) serves(environment string) bool {
	x.mu.Lock()
	svc := x.services[environment]
	x.mu.Unlock()
	adapter := ""
	if svc != nil {
		adapter = svc.Adapter
	}
	return x.ports.Clients.Serves(environment, adapter)
}

func (x *Executor) lookUp(ctx context.Context, l *load.LookUp) (*load.Snapshot, error) {
	client, _, err := x.ports.Clients.Client(ctx, l.Environment, l.Definition)
	if errors.Is(err, ErrNoAdapter) {
		return nil, fmt.Errorf("%w: %w", load.ErrElsewhere, err)
	}
	if err != nil {
		return nil, err
	}
	return client.LookUp(ctx, l)
}

// keep runs watch again and again until ctx ends.
func (x *Executor) keep(ctx context.Context, what string, watch func(context.Context) error) {
	for ctx.Err() == nil {
		if err := watch(ctx); err != nil && ctx.Err() == nil {
			x.log.Warn("watch lost, watching again", "what", what, "error", err)
		}
		pause(ctx, time.Second)
	}
}

// pause waits for d, or until ctx ends; it tells whether d has passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
