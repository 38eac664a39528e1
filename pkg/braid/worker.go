package braid

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/service"
)

// WorkerConfig configures OpenWorker. The zero value of each field but NATS is its default.
type WorkerConfig struct {
	NATS          NATS
	ID            string                     // names this worker; default: host and random letters
	Concurrency   int                        // most items at once; 32
	Grace         time.Duration              // after a stop, until items in hand are handed back; 20 s
	HoldBack      int64                      // units of each quota that this worker never spends, beside what definitions and queries say
	Adapters      map[string]service.Adapter // by service, or by the name that definitions give: instead of declared requests
	NamedAdapters map[string]Adapter         // by the name that definitions give: the same ones that coordinators plan with
	Getenv        func(string) string        // where credentials are looked for; default: os.Getenv
	ConfigDir     string                     // folder of credential files
	Version       string                     // shown to people
	Log           *slog.Logger
	Telemetry     *Telemetry // nil: nothing is told

	room    *fetch.Room      // shared by the workers of one process; nil: its own
	library *service.Library // likewise; nil: none beside what it has open itself
}

// answerRoom is the memory in bytes for the answers that the workers of a process read at the same time.
const answerRoom = 256 << 20

// Worker runs items of all services, and the executions of load runs.
type Worker struct {
	engine *engines
	bus    *bus.Bus
	id     string
}

// engines are the parts of a worker.
type engines struct {
	items *worker.Worker
	loads *executor.Executor
}

// Run takes and runs items and executions until ctx ends; then it finishes or hands back what it has in hand.
func (e *engines) Run(ctx context.Context) error {
	var parts errgroup.Group
	parts.Go(func() error { return e.items.Run(ctx) })
	parts.Go(func() error { return e.loads.Run(ctx) })
	return parts.Wait()
}

// OpenWorker connects a worker. The error wraps messages.ErrUnreachable when NATS is not there, or bus.ErrNoStreams when no
// coordinator has been there before. What a service says behind its
// answer, which may be a secret, net/http writes to the standard logger of package log: a program sends that to nowhere.
func OpenWorker(ctx context.Context, cfg WorkerConfig) (*Worker, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	// A worker makes no streams: it may be a user who must not.
	b, err := cfg.NATS.join(ctx, "worker", cfg.ID, cfg.Log, func(b *bus.Bus) error { return b.Present(ctx) })
	if err != nil {
		return nil, err
	}
	engine, err := newWorker(b, cfg)
	if err != nil {
		b.Close()
		return nil, err
	}
	cfg.Telemetry.connected(b)
	return &Worker{engine, b, cfg.ID}, nil
}

// ID names the worker in leases and results.
func (w *Worker) ID() string { return w.id }

// Run takes and runs items until ctx ends; then it finishes or hands back what it has in hand, and returns nil.
func (w *Worker) Run(ctx context.Context) error { return w.engine.Run(ctx) }

// Ready tells whether the store can be reached and answers; the error says what is wrong.
func (w *Worker) Ready(ctx context.Context) error { return w.bus.Answers(ctx) }

// Close disconnects. Call it after Run has returned.
func (w *Worker) Close() { w.bus.Close() }

func newWorker(b *bus.Bus, cfg WorkerConfig) (*engines, error) {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	if cfg.room == nil {
		cfg.room = fetch.NewRoom(answerRoom)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if err := checkAdapters(cfg.NamedAdapters); err != nil {
		return nil, err
	}
	fetchers := newFetchers(cfg.Adapters, cfg.NamedAdapters)
	secrets := fetch.CredentialSources{Getenv: cfg.Getenv, Dir: cfg.ConfigDir}
	environments := newEnvironments(b, cfg, secrets)
	ups := &upstreams{
		environments: environments,
		pools:        pools{secrets.Resolve, hostName(host)},
		library:      cfg.library, definition: b.Definition, fetchers: fetchers, open: map[string]*opened{},
		transport: func(d *service.Definition) *http.Transport {
			return fetch.NewTransport(fetch.TransportConfig{
				Connect: d.Timeouts.Connect, InFlight: max(cfg.Concurrency, int(d.Limits.InFlight)), Proxy: http.ProxyFromEnvironment,
			})
		},
		connect: func(c *service.Collection, t *http.Transport) (service.Adapter, error) {
			return fetch.New(c, fetch.Config{Transport: t, Credentials: secrets.Resolve, Now: b.Now, UserAgent: "braid/" + cfg.Version, Room: cfg.room, Trace: cfg.Telemetry.request()})
		},
	}
	ports := worker.Ports{
		Queues: workerQueues{b, cfg.Log}, Results: workerResults{b}, Records: spokenTo{b, fetchers, cfg.Log}, Quotas: b, Upstreams: ups, Leases: b.Leases(),
		NewID: rand.Text, Rand: globalRand{}, Now: b.Now, Log: cfg.Log,
	}
	cfg.Telemetry.onWorker(&ports)
	items, err := worker.New(worker.Config{
		ID: cfg.ID, Host: host, Version: cfg.Version, Concurrency: cfg.Concurrency, Grace: cfg.Grace, HoldBack: cfg.HoldBack,
	}, ports)
	if err != nil {
		return nil, err
	}
	loads, err := executor.New(executor.Config{ID: cfg.ID, Grace: cfg.Grace}, executor.Ports{
		Queues: runQueues{b, cfg.Log}, Records: b, Files: b, Intake: b, Executions: b, Errands: b, Clients: environments,
		Leases: b.Leases(), Clock: b.StreamClock(), Local: time.Now, Now: b.Now, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	return &engines{items, loads}, nil
}

// globalRand is the runtime's generator, which is safe for concurrent use.
type globalRand struct{}

func (globalRand) Int64N(n int64) int64 { return mathrand.Int64N(n) }
