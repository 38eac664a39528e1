package braid

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/scratch"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// CoordinatorConfig configures OpenCoordinator. The zero value of each field but NATS is its default.
type CoordinatorConfig struct {
	NATS       NATS
	ID         string        // names this coordinator; default: host and random letters
	Durability Durability    // of the streams; empty: as they are, and one copy of those that do not exist yet
	Replicas   int           // of streams that do not exist yet, where Durability is empty; 0: 1
	MaxStore   int64         // bytes that all streams together may take; 0: as they were made, without a bound of their own
	Keep       time.Duration // how long queries that have ended are kept; 0: for ever
	LeaseTTL   time.Duration // a dead worker's slots are free after this; 30 s
	// InFlight is how many requests may be in flight at each service, whatever queries ask for; 0: nothing is set.
	InFlight messages.InFlight
	// DefaultInFlight holds where no query asks for a number, whatever the definition says; 0: nothing is set.
	DefaultInFlight messages.InFlight
	Definitions     Definitions
	ScratchDir      string             // folder for tables that do not fit into memory; empty: the system's folder for temporary files
	NamedAdapters   map[string]Adapter // by the name that definitions give; all coordinators have the same ones
	Version         string             // of this build, for manifests
	Log             *slog.Logger
	Telemetry       *Telemetry // nil: nothing is told
}

// OpenCoordinator connects a coordinator. Its Run leads; the commands work without it too, when another process leads. The
// error wraps messages.ErrUnreachable when NATS is not there.
func OpenCoordinator(ctx context.Context, cfg CoordinatorConfig) (*Local, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	assets := bus.AssetConfig{Durability: cfg.Durability, Replicas: cfg.Replicas}
	if cfg.MaxStore > 0 {
		assets.Limits, assets.Resize = bus.ShareStore(cfg.MaxStore), true
	}
	b, err := cfg.NATS.join(ctx, "coordinator", cfg.ID, cfg.Log, func(b *bus.Bus) error { return b.Ensure(ctx, assets) })
	if err != nil {
		return nil, err
	}
	parts, err := newCoordination(b, cfg)
	if err != nil {
		b.Close()
		return nil, err
	}
	cfg.Telemetry.watch(b)
	return &Local{engine: parts.queries, desk: parts.desk, loads: parts.loads, bus: b, assets: assets, log: cfg.Log, scratchDir: cfg.ScratchDir, telemetry: cfg.Telemetry, name: cfg.ID}, nil
}

func newCoordinator(b *bus.Bus, cfg CoordinatorConfig) (*coordinator.Coordinator, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	if err := checkAdapters(cfg.NamedAdapters); err != nil {
		return nil, err
	}
	if cfg.Definitions.Library == nil {
		cfg.Definitions.Library = service.NewLibrary()
	}
	ports := coordinator.Ports{
		Queries: b, Catalogue: b, Items: b, Results: b, Services: b, Quotas: b, Workers: b, Glances: b, Boards: b,
		Names: cfg.Definitions, Definitions: cfg.Definitions, Library: cfg.Definitions.Library,
		Adapters: planning(cfg.NamedAdapters), Leader: b.Leader(), Scratch: scratch.In(cfg.ScratchDir),
		NewID: queryID, Now: b.Now, Log: cfg.Log,
	}
	cfg.Telemetry.onCoordinator(&ports)
	return coordinator.New(coordinator.Config{
		ID: cfg.ID, LeaseTTL: cfg.LeaseTTL, InFlight: cfg.InFlight, DefaultInFlight: cfg.DefaultInFlight, Keep: cfg.Keep, Version: cfg.Version,
	}, ports)
}
