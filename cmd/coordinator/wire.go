package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/daemon"
	"github.com/braidhq/braid/internal/ledger"
	"github.com/braidhq/braid/pkg/braid"
)

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c config
	flags := c.flags(stderr)
	if err := c.Parse(flags, args, getenv); err != nil {
		return daemon.Exit(err, stderr)
	}
	c.getenv = getenv
	switch {
	case c.Version:
		fmt.Fprintln(stdout, "coordinator", buildinfo.Version())
		return daemon.ExitOK
	case c.Healthcheck:
		return daemon.Exit(c.ask(ctx), stderr)
	}
	return daemon.Exit(c.coordinate(ctx, stderr), stderr)
}

// ask is the health check: at the address for it, else at the API. Where clients must show a certificate it shows the server's own, which the authority of both may have signed.
func (c *config) ask(ctx context.Context) error {
	if c.health != "" {
		return daemon.Ask(ctx, c.health)
	}
	if c.tls.Cert == "" {
		return daemon.Ask(ctx, c.listen)
	}
	var own []tls.Certificate
	if pair, err := tls.LoadX509KeyPair(c.tls.Cert, c.tls.Key); err == nil && c.tls.ClientCA != "" {
		own = append(own, pair)
	}
	return daemon.AskTLS(ctx, c.listen, own...)
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
	if err := c.checkDoor(); err != nil {
		return err
	}
	telemetry, err := braid.OpenTelemetry(ctx, braid.TelemetryConfig{
		Name: "braid-coordinator", Instance: c.id, Version: buildinfo.Version(), Endpoint: c.Endpoint, Ratio: c.TraceRatio, Log: log,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", daemon.ErrUsage, err)
	}
	defer func() {
		if err := telemetry.Close(ctx); err != nil {
			log.Warn("the last spans are not sent", "error", err)
		}
	}()
	local, err := braid.OpenCoordinator(ctx, braid.CoordinatorConfig{
		NATS: braid.NATS(c.nats), Durability: durability, Replicas: c.replicas, MaxStore: int64(c.maxStore), Keep: time.Duration(c.keep),
		ID: c.id, LeaseTTL: c.leaseTTL, InFlight: c.inFlight,
		Definitions: braid.Definitions{Dir: c.servicesDir, Base: c.serviceURL}, ScratchDir: c.scratchDir, Version: buildinfo.Version(), Log: log, Telemetry: telemetry,
	})
	if errors.Is(err, bus.ErrDurability) {
		return fmt.Errorf("%w: --durability: %w", daemon.ErrUsage, err)
	}
	if err != nil {
		return daemon.Stopped(ctx, err)
	}
	defer local.Close()
	feeder, err := ledger.FeederFor(c.ledger, c.ledgerPass, c.getenv, local.Journal(), local.Leads, log)
	if err != nil {
		return fmt.Errorf("%w: %w", daemon.ErrUsage, err)
	}
	if l := feeder.Ledger(); l != nil {
		telemetry.WatchLedger(func() braid.LedgerStanding { return standing(l) })
	}
	api, err := local.ListenAPI(ctx, braid.APIConfig{
		Listen: c.listen, Tokens: c.tokens, AllowUnauthenticated: c.exposed, MetricsOpen: c.metricsOpen, AuditFile: c.auditFile, TLS: c.tls,
		Hosts: c.hosts, Version: buildinfo.Version(), Log: log,
	})
	if err != nil {
		return err
	}
	health, err := daemon.ListenHealth(ctx, c.health)
	if err != nil {
		return err
	}
	log.Info("serving", "address", api.Address(), "health", c.health, "version", buildinfo.Version())
	return daemon.Told(ctx, log, local.Run, api.Serve, feeder.Run, func(ctx context.Context) error {
		return daemon.ServeHealth(ctx, health, daemon.Showing(local.Led), telemetry.Metrics())
	})
}

// standing is how the ledger stands, for the metrics.
func standing(l *ledger.Ledger) braid.LedgerStanding {
	s := l.Standing()
	return braid.LedgerStanding{State: string(s.State), Stored: s.Stored, Unread: s.Unread, Behind: s.Behind, Missed: s.Missed}
}
