package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/braidhq/braid/internal/buildinfo"
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
		fmt.Fprintln(stdout, "worker", buildinfo.Version())
		return daemon.ExitOK
	case c.Healthcheck:
		return daemon.Exit(daemon.Ask(ctx, c.health), stderr)
	}
	return daemon.Exit(c.work(ctx, getenv, stderr), stderr)
}

func (c *config) work(ctx context.Context, getenv func(string) string, stderr io.Writer) error {
	log, err := c.Logger(stderr)
	if err != nil {
		return err
	}
	telemetry, err := braid.OpenTelemetry(ctx, braid.TelemetryConfig{
		Name: "braid-worker", Instance: c.id, Version: buildinfo.Version(), Endpoint: c.Endpoint, Ratio: c.TraceRatio, Log: log,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", daemon.ErrUsage, err)
	}
	defer closing(ctx, log, telemetry)
	w, err := braid.OpenWorker(ctx, braid.WorkerConfig{
		NATS: braid.NATS(c.nats),
		ID:   c.id, Concurrency: c.concurrency, Grace: c.grace, HoldBack: c.holdBack, Getenv: getenv, ConfigDir: c.configDir,
		Version: buildinfo.Version(), Log: log, Telemetry: telemetry,
	})
	if err != nil {
		return daemon.Stopped(ctx, err)
	}
	defer w.Close()
	log.Info("working", "worker", w.ID(), "version", buildinfo.Version())
	return daemon.Told(ctx, log, w.Run, func(ctx context.Context) error {
		return daemon.Health(ctx, c.health, daemon.Showing(w.Ready), telemetry.Metrics())
	})
}

func closing(ctx context.Context, log *slog.Logger, t *braid.Telemetry) {
	if err := t.Close(ctx); err != nil {
		log.Warn("the last spans are not sent", "error", err)
	}
}
