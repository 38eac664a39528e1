package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/daemon"
	"github.com/braidhq/braid/pkg/braid"
)

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c config
	flags := c.flags(stderr)
	if err := c.Parse(flags, args, getenv); err != nil {
		return daemon.Exit(err, stderr)
	}
	switch {
	case c.Version:
		fmt.Fprintln(stdout, "coordinator", buildinfo.Version())
		return daemon.ExitOK
	case c.Healthcheck:
		return daemon.Exit(daemon.Ask(ctx, c.listen), stderr)
	}
	return daemon.Exit(c.coordinate(ctx, stderr), stderr)
}

func (c *config) coordinate(ctx context.Context, stderr io.Writer) error {
	log, err := c.Logger(stderr)
	if err != nil {
		return err
	}
	durability, err := c.durable()
	if err != nil {
		return err
	}
	local, err := braid.OpenCoordinator(ctx, braid.CoordinatorConfig{
		NATS: braid.NATS(c.nats), Durability: durability, Replicas: c.replicas, MaxStore: int64(c.maxStore), Keep: time.Duration(c.keep),
		ID: c.id, LeaseTTL: c.leaseTTL, InFlight: c.inFlight,
		Definitions: braid.Definitions{Dir: c.servicesDir, Base: c.serviceURL}, ScratchDir: c.scratchDir, Version: buildinfo.Version(), Log: log,
	})
	if errors.Is(err, bus.ErrDurability) {
		return fmt.Errorf("%w: --durability: %w", daemon.ErrUsage, err)
	}
	if err != nil {
		return daemon.Stopped(ctx, err)
	}
	defer local.Close()
	api, err := local.ListenAPI(ctx, braid.APIConfig{
		Listen: c.listen, AllowUnauthenticated: c.exposed, Hosts: c.hosts, Version: buildinfo.Version(), Log: log,
	})
	if err != nil {
		return err
	}
	log.Info("serving", "address", api.Address(), "version", buildinfo.Version())
	return daemon.Told(ctx, log, local.Run, api.Serve)
}
