package braid

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/service"
)

// NATS says how to reach the server.
type NATS struct {
	URL         string // nats://host:port, several separated by commas
	Credentials string // path of a NATS credentials file; empty: none
	Replicas    int    // of streams that do not exist yet: 1, or 3 on a cluster
}

// CoordinatorConfig configures RunCoordinator. The zero value of each field but NATS is its default.
type CoordinatorConfig struct {
	NATS        NATS
	ID          string        // names this coordinator; default: host and random letters
	LeaseTTL    time.Duration // a dead worker's slots are free after this; 30 s
	InFlight    int           // requests in flight at each service, whatever its definition says; 0: as the definition says
	Definitions Definitions
	Log         *slog.Logger
}

// WorkerConfig configures RunWorker. The zero value of each field but NATS is its default.
type WorkerConfig struct {
	NATS        NATS
	ID          string                     // names this worker; default: host and random letters
	Concurrency int                        // most items at once; 32
	Grace       time.Duration              // after a stop, until items in hand are handed back; 20 s
	Adapters    map[string]service.Adapter // by service: instead of the requests that its definition describes
	Getenv      func(string) string        // where credentials are looked for; default: os.Getenv
	ConfigDir   string                     // folder of credential files
	Version     string                     // shown to people
	Log         *slog.Logger
}

// RunWorker takes and runs items until ctx ends; then it finishes or hands back what it has in hand.
func RunWorker(ctx context.Context, cfg WorkerConfig) error {
	b, err := bus.Connect(ctx, bus.Config{URL: cfg.NATS.URL, Credentials: cfg.NATS.Credentials, Name: "braid worker " + cfg.ID, Log: cfg.Log})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Ensure(ctx, bus.AssetConfig{Replicas: cfg.NATS.Replicas}); err != nil {
		return err
	}
	w, err := newWorker(b, cfg)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

func newWorker(b *bus.Bus, cfg WorkerConfig) (*worker.Worker, error) {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	secrets := fetch.CredentialSources{Getenv: cfg.Getenv, Dir: cfg.ConfigDir}
	ups := &upstreams{
		definition: b.Definition, adapters: cfg.Adapters, open: map[string]*opened{},
		transport: func(d *service.Definition) *http.Transport {
			return fetch.NewTransport(fetch.TransportConfig{
				Connect: d.Timeouts.Connect, InFlight: max(cfg.Concurrency, d.Limits.InFlight), Proxy: http.ProxyFromEnvironment,
			})
		},
		connect: func(c *service.Collection, t *http.Transport) (service.Adapter, error) {
			return fetch.New(c, fetch.Config{Transport: t, Credentials: secrets.Resolve, Now: time.Now, UserAgent: "braid/" + cfg.Version})
		},
	}
	return worker.New(worker.Config{
		ID: cfg.ID, Host: host, Version: cfg.Version, Concurrency: cfg.Concurrency, Grace: cfg.Grace,
	}, worker.Ports{
		Queues: workerQueues{b, cfg.Log}, Results: workerResults{b}, Records: b, Upstreams: ups, Leases: b.Leases(),
		NewID: rand.Text, Rand: globalRand{}, Now: time.Now, Log: cfg.Log,
	})
}

// globalRand is the runtime's generator, which is safe for concurrent use.
type globalRand struct{}

func (globalRand) Int64N(n int64) int64 { return mathrand.Int64N(n) }

// OpenCoordinator connects a coordinator. Its Run leads; the commands work without it too, when another process leads.
func OpenCoordinator(ctx context.Context, cfg CoordinatorConfig) (*Local, func(), error) {
	b, err := bus.Connect(ctx, bus.Config{URL: cfg.NATS.URL, Credentials: cfg.NATS.Credentials, Name: "braid coordinator " + cfg.ID, Log: cfg.Log})
	if err != nil {
		return nil, nil, err
	}
	if err := b.Ensure(ctx, bus.AssetConfig{Replicas: cfg.NATS.Replicas}); err != nil {
		b.Close()
		return nil, nil, err
	}
	c, err := newCoordinator(b, cfg)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return &Local{engine: c, bus: b}, b.Close, nil
}

func newCoordinator(b *bus.Bus, cfg CoordinatorConfig) (*coordinator.Coordinator, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	return coordinator.New(coordinator.Config{ID: cfg.ID, LeaseTTL: cfg.LeaseTTL, InFlight: cfg.InFlight}, coordinator.Ports{
		Queries: b, Catalogue: b, Items: b, Results: b, Services: b, Definitions: cfg.Definitions, Leader: b.Leader(),
		NewID: queryID, Now: time.Now, Log: cfg.Log,
	})
}

// queryID is eight letters and digits without those that are easily confused: short enough to type, and a taken one is
// refused by the store, so that it need not be unique by chance.
func queryID() string { return strings.ToLower(rand.Text()[:8]) }

// processID names a process for people, and is unique.
func processID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host)
	return fmt.Sprintf("%s-%s", strings.Trim(name[:min(len(name), 32)], "-"), strings.ToLower(rand.Text()[:6]))
}

// EmbeddedConfig configures an Embedded. The zero value of each field but Dir is its default.
type EmbeddedConfig struct {
	Dir         string // data directory: made when absent, locked against a second process
	Listen      string // host:port for workers in other processes; empty: no port is opened
	FastSync    bool   // flush to disk each second and not at each write
	Workers     int    // 0: none, for commands that run nothing
	Concurrency int    // most items at once in each worker; 32
	LeaseTTL    time.Duration
	InFlight    int
	Grace       time.Duration
	Definitions Definitions
	Getenv      func(string) string
	ConfigDir   string
	Version     string
	Log         *slog.Logger
}

// Embedded is NATS, a coordinator and workers in this process.
type Embedded struct {
	*Local
	cfg     EmbeddedConfig
	server  *bus.Server
	workers []*worker.Worker
	buses   []*bus.Bus
}

// OpenEmbedded starts the server on the data directory and connects coordinator and workers; Run sets them to work.
// Errors wrap bus.ErrDir, bus.ErrDirInUse, bus.ErrListen or messages.ErrStoreFull.
func OpenEmbedded(ctx context.Context, cfg EmbeddedConfig) (*Embedded, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	server, err := bus.StartServer(ctx, bus.ServerConfig{Dir: cfg.Dir, Listen: cfg.Listen, FastSync: cfg.FastSync, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	e := &Embedded{cfg: cfg, server: server}
	if err := e.connect(ctx); err != nil {
		return nil, fmt.Errorf("%w%s", err, closing(e.Close()))
	}
	return e, nil
}

func closing(err error) string {
	if err == nil {
		return ""
	}
	return "; and while closing: " + err.Error()
}

func (e *Embedded) connect(ctx context.Context) error {
	b, err := e.join(ctx, "coordinator")
	if err != nil {
		return err
	}
	if err := b.Ensure(ctx, bus.AssetConfig{Limits: e.server.EmbeddedLimits()}); err != nil {
		return err
	}
	engine, err := newCoordinator(b, CoordinatorConfig{
		LeaseTTL: e.cfg.LeaseTTL, InFlight: e.cfg.InFlight, Definitions: e.cfg.Definitions, Log: e.cfg.Log,
	})
	if err != nil {
		return err
	}
	e.Local = &Local{engine: engine, bus: b}
	for i := range e.cfg.Workers {
		b, err := e.join(ctx, fmt.Sprintf("worker %d", i))
		if err != nil {
			return err
		}
		w, err := newWorker(b, WorkerConfig{
			Concurrency: e.cfg.Concurrency, Grace: e.cfg.Grace, Getenv: e.cfg.Getenv, ConfigDir: e.cfg.ConfigDir,
			Version: e.cfg.Version, Log: e.cfg.Log,
		})
		if err != nil {
			return err
		}
		e.workers = append(e.workers, w)
	}
	return nil
}

func (e *Embedded) join(ctx context.Context, name string) (*bus.Bus, error) {
	b, err := bus.Connect(ctx, bus.Config{Server: e.server, Name: "braid " + name, Log: e.cfg.Log})
	if err == nil {
		e.buses = append(e.buses, b)
	}
	return b, err
}

// Run leads and works until ctx ends, or until the store can no longer be written: then the error wraps
// messages.ErrStoreFull. Workers finish or hand back what they have in hand before it returns.
func (e *Embedded) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return e.server.Watch(ctx) })
	// The coordinator outlives the workers, so that it hears of what they still finish.
	leading, stop := context.WithCancel(context.WithoutCancel(ctx))
	parts.Go(func() error {
		defer stop()
		work, ctx := errgroup.WithContext(ctx)
		for _, w := range e.workers {
			work.Go(func() error { return w.Run(ctx) })
		}
		return work.Wait()
	})
	parts.Go(func() error { return e.engine.Run(leading) })
	return parts.Wait()
}

// ClientURL is where workers in other processes connect to; empty when no port is opened.
func (e *Embedded) ClientURL() string { return e.server.ClientURL() }

// Close disconnects everything and stops the server. Call it after Run has returned.
func (e *Embedded) Close() error {
	for _, b := range e.buses {
		b.Close()
	}
	return e.server.Close()
}
