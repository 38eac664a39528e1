// A coordinator and a worker with an adapter of their own, for a service that no definition can describe: its requests are
// signed, and its data comes as reports that are ordered and then fetched. README.md says how to try it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/pkg/braid"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr) //nolint:forbidigo // a main of its own, as those in cmd/
	stop()
	os.Exit(code) //nolint:forbidigo // likewise
}

func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	roles := map[string]func(context.Context, func(string) string, *slog.Logger) error{"coordinator": coordinate, "worker": work, "tides": serveTides}
	if len(args) != 1 || roles[args[0]] == nil {
		fmt.Fprintln(stderr, "usage: adapter coordinator|worker|tides; NATS_URL, TIDES_URL and TIDES_KEY say with whom they speak")
		return 2
	}
	if err := roles[args[0]](ctx, getenv, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// adapters is what both sides have: the coordinator uses Plan and Finalize, the worker Fetch.
func adapters(base, key string) map[string]braid.Adapter {
	return map[string]braid.Adapter{
		"tide-reports": {Fetch: newReports(base, []byte(key)), Plan: basins{}, Finalize: finalize},
	}
}

func nats(getenv func(string) string) braid.NATS {
	return braid.NATS{URL: or(getenv("NATS_URL"), "nats://127.0.0.1:4222"), Wait: 10 * time.Second}
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

func coordinate(ctx context.Context, getenv func(string) string, log *slog.Logger) error {
	c, err := braid.OpenCoordinator(ctx, braid.CoordinatorConfig{
		NATS: nats(getenv), NamedAdapters: adapters("", ""), Definitions: braid.Definitions{Dir: "services"}, Log: log,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	api, err := c.ListenAPI(ctx, braid.APIConfig{Listen: "127.0.0.1:8080", Log: log})
	if err != nil {
		return err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return c.Run(ctx) })
	both.Go(func() error { return api.Serve(ctx) })
	return both.Wait()
}

func work(ctx context.Context, getenv func(string) string, log *slog.Logger) error {
	if getenv("TIDES_KEY") == "" {
		return errors.New("TIDES_KEY is not set: every request is signed with it")
	}
	w, err := braid.OpenWorker(ctx, braid.WorkerConfig{
		NATS: nats(getenv), NamedAdapters: adapters(or(getenv("TIDES_URL"), "https://tides.example"), getenv("TIDES_KEY")), Log: log,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Run(ctx)
}
