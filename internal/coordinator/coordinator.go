package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// Config of a coordinator. The zero value of each field but ID is its default.
type Config struct {
	ID              string            // names this coordinator in the leader's slot; required
	LeaseTTL        time.Duration     // of a service's slots, whole seconds; 30 s
	LeaderTTL       time.Duration     // a dead leader is followed after this, whole seconds; 4 s
	InFlight        messages.InFlight // slots of every service, whatever queries ask for and its definition says; 0: nothing is set
	DefaultInFlight messages.InFlight // where no active query asks for a number, whatever the definition says; 0: nothing is set
	StallAfter      time.Duration     // with items outstanding and no news for this long, they are published again; 1 min
	Keep            time.Duration     // the leader removes queries that ended longer ago; 0: never
	Version         string            // of this build, for manifests
}

func (c Config) withDefaults() Config {
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 30 * time.Second
	}
	if c.LeaderTTL == 0 {
		c.LeaderTTL = 4 * time.Second
	}
	if c.StallAfter == 0 {
		c.StallAfter = time.Minute
	}
	return c
}

// Ports are the coordinator's connections to the world.
type Ports struct {
	Queries     Queries
	Catalogue   Catalogue
	Items       Items
	Results     Results
	Services    Services
	Quotas      Quotas  // nil: nothing is told of them
	Workers     Workers // nil: nothing is told of them
	Glances     Glances // nil: positions are shown without what their results tell
	Boards      Boards  // nil: no services and workers are shown
	Names       Names   // nil: only services that queries have used are shown
	Definitions Definitions
	Library     *service.Library   // keeps opened definitions; nil: each is opened anew
	Adapters    map[string]Adapter // by the name that definitions give
	Leader      lease.Store
	Scratch     frame.Scratch // of tables that do not fit into memory; nil: they are kept in memory
	NewID       func() string // ids of queries
	Now         func() time.Time
	Log         *slog.Logger
	Observer    Observer // nil: nobody listens
	Tracer      Tracer   // nil: nothing is traced
}

// Coordinator accepts commands, and leads queries while Run runs. It is safe for concurrent use.
type Coordinator struct {
	cfg   Config
	ports Ports
	log   *slog.Logger

	shares    *shares
	resolving chan struct{} // holds one: whoever resolves the slots of a service

	attendance attendance
	gallery    *gallery
}

// New makes a coordinator.
func New(cfg Config, ports Ports) (*Coordinator, error) {
	cfg, ports = cfg.withDefaults(), ports.withDefaults()
	if err := messages.CheckName(cfg.ID); err != nil {
		return nil, fmt.Errorf("coordinator id: %w", err)
	}
	if err := errors.Join(cfg.InFlight.Check(), cfg.DefaultInFlight.Check()); err != nil {
		return nil, fmt.Errorf("in_flight: %w", err)
	}
	c := &Coordinator{cfg: cfg, ports: ports, log: ports.Log.With("coordinator", cfg.ID), shares: newShares(), resolving: make(chan struct{}, 1)}
	c.gallery = newGallery(&c.ports)
	return c, nil
}

// Run leads whenever it holds the leader's slot, until ctx ends, and then returns nil.
func (c *Coordinator) Run(ctx context.Context) error {
	seat, err := lease.New(c.ports.Leader, lease.Name{Service: "coordinator"}, lease.Config{
		Slots: 1, Holder: c.cfg.ID, TTL: c.cfg.LeaderTTL,
		OnError: func(err error) {
			if errors.Is(err, lease.ErrConflict) {
				c.log.Debug("another coordinator was faster at the leader's slot", "error", err)
				return
			}
			c.log.Warn("leader's slot", "error", err)
		},
	})
	if err != nil {
		return fmt.Errorf("leader's slot: %w", err)
	}
	keeping, letGo := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() {
		if err := seat.Run(keeping); err != nil {
			c.log.Error("leader's slot", "error", err)
		}
	})
	defer watch.Wait()
	defer letGo()
	for ctx.Err() == nil {
		slot, err := seat.Acquire(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("leader's slot: %w", err)
		}
		c.leadUnder(ctx, slot)
	}
	return nil
}

func (c *Coordinator) leadUnder(ctx context.Context, slot *lease.Slot) {
	leading, done := slot.Context(ctx)
	defer done()
	c.log.Info("leading", "generation", slot.Generation())
	c.ports.Observer.Leads(true)
	defer c.ports.Observer.Leads(false)
	// Told at once: what was begun takes its time to end.
	lost := context.AfterFunc(leading, func() {
		c.ports.Observer.Leads(false)
		if errors.Is(context.Cause(leading), lease.ErrLost) {
			c.log.Warn("no longer leading: the leader's slot is lost", "error", context.Cause(leading))
		}
	})
	defer lost()
	for leading.Err() == nil {
		if err := c.lead(leading); err != nil && leading.Err() == nil {
			c.log.Warn("watch of the queries lost, watching again", "error", err)
			pause(leading, time.Second)
		}
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := slot.Release(release); err != nil {
		c.log.Warn("leader's slot not released; it expires", "error", err)
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
