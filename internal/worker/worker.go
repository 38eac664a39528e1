package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/retry"
)

// ErrStopping is the cause with which work is cut when the grace period after a stop is over.
var ErrStopping = errors.New("the worker is stopping")

// Config of a worker. The zero value of each field but ID is its default.
type Config struct {
	ID          string        // names the worker in leases, results and events; required, a messages name
	Host        string        // shown to people
	Version     string        // shown to people
	Concurrency int           // most items at once; 32
	Grace       time.Duration // after a stop, how long items in hand may take to finish before they are handed back; 20 s
	ShortWait   time.Duration // longest closed gate that is waited out with the item in hand; 2 s
	HoldBack    int64         // units of each quota that this worker never spends
	Commit      time.Duration // longest time to store a result while the store is away; 2 min
}

func (c Config) withDefaults() Config {
	if c.Concurrency <= 0 {
		c.Concurrency = 32
	}
	if c.Grace == 0 {
		c.Grace = 20 * time.Second
	}
	if c.ShortWait == 0 {
		c.ShortWait = 2 * time.Second
	}
	if c.Commit == 0 {
		c.Commit = 2 * time.Minute
	}
	return c
}

// Ports are the worker's connections to the world.
type Ports struct {
	Queues    Queues
	Results   Results
	Records   Records
	Quotas    Quotas // nil: nothing is charged
	Upstreams Upstreams
	Leases    lease.Store
	NewID     func() string // unique ids of attempts
	Rand      retry.Rand    // of backoff; safe for concurrent use
	Now       func() time.Time
	Log       *slog.Logger
	Observer  Observer // nil: nobody listens
	Tracer    Tracer   // nil: nothing is traced
}

// Worker runs items of all services that have a queue.
type Worker struct {
	cfg      Config
	ports    Ports
	log      *slog.Logger
	board    *board
	recorder *recorder
	room     *semaphore.Weighted // Concurrency tokens, one per item in hand
	turn     *semaphore.Weighted // of the suspects: one at a time
	busy     counter
	quotas   *quotas
}

// New makes a worker. Run starts it.
func New(cfg Config, ports Ports) (*Worker, error) {
	cfg = cfg.withDefaults()
	if err := messages.CheckName(cfg.ID); err != nil {
		return nil, fmt.Errorf("worker id: %w", err)
	}
	if cfg.HoldBack < 0 {
		return nil, fmt.Errorf("hold-back is %d; use 0 or more", cfg.HoldBack)
	}
	if ports.Observer == nil {
		ports.Observer = unobserved{}
	}
	if ports.Tracer == nil {
		ports.Tracer = untraced{}
	}
	log := ports.Log.With("worker", cfg.ID)
	w := &Worker{
		cfg: cfg, ports: ports, log: log, board: newBoard(),
		recorder: newRecorder(cfg.ID, ports.Results, log),
		room:     semaphore.NewWeighted(int64(cfg.Concurrency)), turn: semaphore.NewWeighted(1),
	}
	w.quotas = newQuotas(w)
	return w, nil
}

// Run takes and runs items until ctx ends. Then it takes no more, lets what it has in hand finish for the grace period,
// hands the rest back, and returns nil. It survives the loss of its connections.
func (w *Worker) Run(ctx context.Context) error {
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	background, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()

	defer w.ports.Observer.Begun(w.cfg.Concurrency)()

	var parts errgroup.Group
	parts.Go(func() error { return w.watchRecords(background) })
	parts.Go(func() error { return w.recorder.run(background) })
	parts.Go(func() error { return w.presence(background) })
	parts.Go(func() error { return w.quotas.run(background) })
	served := make(chan struct{})
	go func() {
		defer close(served)
		w.serveAll(ctx, work)
	}()
	<-ctx.Done()
	wait := w.cfg.Grace
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
	hangUp()
	return parts.Wait()
}

// serveAll runs an intake for each service that there is, until ctx ends.
func (w *Worker) serveAll(ctx, work context.Context) {
	intakes := map[string]*intake{}
	var running sync.WaitGroup
	defer running.Wait()
	w.keep(ctx, "services", func(ctx context.Context) error {
		return w.ports.Records.WatchServices(ctx, func(svc *messages.Service, err error) {
			if err != nil {
				w.log.Error("a service record cannot be read", "error", err)
				return
			}
			in, have := intakes[svc.Name]
			if !have {
				in = newIntake(w, svc)
				intakes[svc.Name] = in
				running.Go(func() { in.run(ctx, work) })
				return
			}
			in.update(svc)
		})
	})
}

// watchRecords keeps the board up to date until ctx ends.
func (w *Worker) watchRecords(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() {
		w.keep(ctx, "gates", func(ctx context.Context) error {
			return w.ports.Records.WatchGates(ctx, func(g *messages.Gate, err error) {
				if err != nil {
					w.log.Error("a gate cannot be read", "error", err)
					return
				}
				w.board.gate(g)
			})
		})
	})
	parts.Go(func() {
		w.keep(ctx, "queries", func(ctx context.Context) error {
			return w.ports.Records.WatchQueries(ctx, func(id string, q *messages.Query, _ uint64, err error) {
				if err != nil {
					w.log.Error("a query record cannot be read", "query", id, "error", err)
					return
				}
				w.board.query(id, q)
			}, func() {})
		})
	})
	parts.Wait()
	return nil
}

// keep runs watch again and again until ctx ends.
func (w *Worker) keep(ctx context.Context, what string, watch func(context.Context) error) {
	for ctx.Err() == nil {
		if err := watch(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("watch lost, watching again", "what", what, "error", err)
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
