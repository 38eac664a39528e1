package braid

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// EmbeddedConfig configures an Embedded. The zero value of each field but Dir is its default.
type EmbeddedConfig struct {
	Dir         string     // data directory: made when absent, locked against a second process
	Listen      string     // host:port for workers in other processes; empty: no port is opened
	Durability  Durability // Fast or Safe; empty: Safe
	FastSync    bool       // the same as Durability Fast, where that is empty
	MaxStore    int64      // bytes that all streams together may take; 0: as they were made, at first 80 % of what is free
	Workers     int        // 0: none, for commands that run nothing
	Concurrency int        // most items at once in each worker; 32
	LeaseTTL    time.Duration
	InFlight    messages.InFlight // whatever queries ask for; 0: nothing is set
	// DefaultInFlight holds where no query asks for a number, whatever the definition says; 0: nothing is set.
	DefaultInFlight messages.InFlight
	Grace           time.Duration
	Definitions     Definitions
	NamedAdapters   map[string]Adapter // by the name that definitions give
	Getenv          func(string) string
	ConfigDir       string
	Version         string
	Log             *slog.Logger
	Telemetry       *Telemetry // nil: nothing is told
}

// Embedded is NATS, a coordinator and workers in this process.
type Embedded struct {
	*Local
	cfg     EmbeddedConfig
	server  *bus.Server
	workers []*engines
	buses   []*bus.Bus
}

// OpenEmbedded starts the server on the data directory and connects coordinator and workers; Run sets them to work.
// Errors wrap bus.ErrDir, bus.ErrDirInUse, bus.ErrListen, bus.ErrDurability or messages.ErrStoreFull.
func OpenEmbedded(ctx context.Context, cfg EmbeddedConfig) (*Embedded, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Durability == "" && cfg.FastSync {
		cfg.Durability = Fast
	}
	if cfg.Definitions.Library == nil {
		cfg.Definitions.Library = service.NewLibrary()
	}
	server, err := bus.StartServer(ctx, bus.ServerConfig{Dir: cfg.Dir, Listen: cfg.Listen, MaxStore: cfg.MaxStore, Durability: cfg.Durability, Log: cfg.Log})
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
	assets := bus.AssetConfig{Limits: e.server.EmbeddedLimits(), Resize: e.cfg.MaxStore > 0}
	if err := b.Ensure(ctx, assets); err != nil {
		return err
	}
	id := processID()
	parts, err := newCoordination(b, CoordinatorConfig{
		ID:       id,
		LeaseTTL: e.cfg.LeaseTTL, InFlight: e.cfg.InFlight, DefaultInFlight: e.cfg.DefaultInFlight, Definitions: e.cfg.Definitions, NamedAdapters: e.cfg.NamedAdapters,
		ScratchDir: filepath.Join(e.cfg.Dir, "scratch"), Version: e.cfg.Version, Log: e.cfg.Log, Telemetry: e.cfg.Telemetry,
	})
	if err != nil {
		return err
	}
	e.Local = &Local{engine: parts.queries, desk: parts.desk, loads: parts.loads, bus: b, assets: assets, log: e.cfg.Log, scratchDir: filepath.Join(e.cfg.Dir, "scratch"), telemetry: e.cfg.Telemetry, name: id}
	e.cfg.Telemetry.watch(b)
	room := fetch.NewRoom(answerRoom)
	for i := range e.cfg.Workers {
		b, err := e.join(ctx, fmt.Sprintf("worker %d", i))
		if err != nil {
			return err
		}
		w, err := newWorker(b, WorkerConfig{
			Concurrency: e.cfg.Concurrency, Grace: e.cfg.Grace, Getenv: e.cfg.Getenv, ConfigDir: e.cfg.ConfigDir,
			Version: e.cfg.Version, NamedAdapters: e.cfg.NamedAdapters, Log: e.cfg.Log, Telemetry: e.cfg.Telemetry,
			room: room, library: e.cfg.Definitions.Library,
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
		work.Go(func() error {
			<-ctx.Done() // with no worker of its own it leads for those of other processes
			return nil
		})
		for _, w := range e.workers {
			work.Go(func() error { return w.Run(ctx) })
		}
		return work.Wait()
	})
	parts.Go(func() error { return e.lead(leading) })
	return parts.Wait()
}

// ClientURL is where workers in other processes connect to; empty when no port is opened.
func (e *Embedded) ClientURL() string { return e.server.ClientURL() }

// Close disconnects everything and stops the server. Call it after Run has returned.
func (e *Embedded) Close() error {
	if e.Local != nil {
		e.engine.CloseViews()
	}
	for _, b := range e.buses {
		b.Close()
	}
	return e.server.Close()
}
