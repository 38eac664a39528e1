package loadrun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

// Controller leads active runs while Run runs. Of all controllers, the one that holds the seat does.
type Controller struct {
	cfg    Config
	ports  Ports
	log    *slog.Logger
	active *neighbours
	// left is when the process was last heard of that has left a run behind; zero: others may be at the store, and workers run.
	left time.Time
}

// NewController makes a controller.
func NewController(cfg Config, ports Ports) (*Controller, error) {
	if err := messages.CheckName(cfg.ID); err != nil {
		return nil, fmt.Errorf("controller id: %w", err)
	}
	ports = ports.withDefaults()
	return &Controller{cfg: cfg.withDefaults(), ports: ports, log: ports.Log.With("controller", cfg.ID), active: &neighbours{}}, nil
}

// seat is what the leading controller holds.
func seat() lease.Name { return lease.Name{Service: "loadrun"} }

// Run leads whenever it holds the seat, until ctx ends, and then returns nil.
func (c *Controller) Run(ctx context.Context) error {
	chair, err := lease.New(c.ports.Leader, seat(), lease.Config{
		Slots: 1, Holder: c.cfg.ID, TTL: c.cfg.LeaderTTL,
		OnError: func(err error) {
			if errors.Is(err, lease.ErrConflict) {
				c.log.Debug("another controller was faster at the seat", "error", err)
				return
			}
			c.log.Warn("the seat of load runs", "error", err)
		},
	})
	if err != nil {
		return fmt.Errorf("the seat of load runs: %w", err)
	}
	keeping, letGo := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() {
		if err := chair.Run(keeping); err != nil {
			c.log.Error("the seat of load runs", "error", err)
		}
	})
	defer watch.Wait()
	defer letGo()
	for ctx.Err() == nil {
		slot, err := chair.Acquire(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the seat of load runs: %w", err)
		}
		c.leadUnder(ctx, slot)
	}
	return nil
}

func (c *Controller) leadUnder(ctx context.Context, slot *lease.Slot) {
	leading, done := slot.Context(ctx)
	defer done()
	c.log.Info("leading load runs", "generation", slot.Generation())
	for leading.Err() == nil {
		if err := c.lead(leading); err != nil && leading.Err() == nil {
			c.log.Warn("watch of the load runs lost, watching again", "error", err)
			pause(leading, time.Second)
		}
	}
	if errors.Is(context.Cause(leading), lease.ErrLost) {
		c.log.Warn("no longer leading load runs: the seat is lost", "error", context.Cause(leading))
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := slot.Release(release); err != nil {
		c.log.Warn("the seat of load runs is not released; it expires", "error", err)
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
