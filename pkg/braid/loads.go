package braid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// coordination is the parts of a coordinator: queries, load runs as people ask for them, and the course of load runs.
type coordination struct {
	queries *coordinator.Coordinator
	desk    *loadrun.Desk
	loads   *loadrun.Controller
}

func newCoordination(b *bus.Bus, cfg CoordinatorConfig) (coordination, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ID == "" {
		cfg.ID = processID()
	}
	if cfg.Definitions.Library == nil {
		cfg.Definitions.Library = service.NewLibrary()
	}
	queries, err := newCoordinator(b, cfg)
	if err != nil {
		return coordination{}, err
	}
	ports := loadrun.Ports{
		Records: b, Files: b, Queue: b, Intake: b, Executions: b, Errands: b, Services: b, Leader: b.Leader(), Places: b.Leases(),
		Environments: loadEnvironments{cfg.Definitions}, NewID: queryID, Now: b.Now, Log: cfg.Log,
	}
	settings := loadrun.Config{ID: cfg.ID, LeaseTTL: cfg.LeaseTTL, Keep: cfg.Keep}
	loads, err := loadrun.NewController(settings, ports)
	if err != nil {
		return coordination{}, err
	}
	return coordination{queries, loadrun.NewDesk(settings, ports), loads}, nil
}

// lead leads until ctx ends.
func (l *Local) lead(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return l.engine.Run(ctx) })
	parts.Go(func() error { return l.loads.Run(ctx) })
	return parts.Wait()
}

// Loads is what can be asked about load runs. It works without Run too, when another process leads.
func (l *Local) Loads() *loadrun.Desk { return l.desk }

// LocalActor is whoever works in this process: they may do all.
func LocalActor(name string) load.Actor { return load.Actor{Name: name, Run: true, Prod: true} }

// loadEnvironments finds the environments of service definitions.
type loadEnvironments struct{ definitions Definitions }

// Environment is loadrun.Environments'.
func (e loadEnvironments) Environment(name string) (*loadrun.Definition, error) {
	text, err := e.definitions.Pinned(name)
	if errors.Is(err, ErrUnknownService) {
		return nil, fmt.Errorf("%w: %w", messages.ErrNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", load.ErrInvalid, err)
	}
	d, err := e.definitions.Library.Open(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", load.ErrInvalid, err)
	}
	environment, has := d.Environment()
	if !has {
		return nil, fmt.Errorf("%w: the service %s has no environment for load runs; its definition needs the block environment", load.ErrInvalid, name)
	}
	return &loadrun.Definition{Environment: environment, Text: text, Digest: service.Digest(text), Adapter: d.Adapter}, nil
}

// EnvironmentNames is loadrun.Environments'. A definition that cannot be read is none.
func (e loadEnvironments) EnvironmentNames() []string {
	var names []string
	for _, name := range e.definitions.Names() {
		if _, err := e.Environment(name); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// loadsStop bounds what is done at the start for runs that a process before this one has left.
const loadsStop = 30 * time.Second

// parkLoads ends the load runs that a process before this one has left running. What they had in flight went with that process.
func (l *Local) parkLoads(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadsStop)
	defer cancel()
	return errors.Join(l.desk.Park(ctx), l.loads.Settle(ctx))
}
