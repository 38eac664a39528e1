// Command watched measures what watchers cost: how many chunks a second a query of many small chunks goes through while many clients
// follow it by server-sent events and the API is asked all the time, as a ratio to the rate without any of them.
//
// Stretches with watchers and without take turns within one query, so that both see the store grow. The clients run in a process of
// their own, on the same machine. A client that misses its last event is an error.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

//go:embed readings.yaml
var definition embed.FS

type config struct {
	chunks, clients, rate int
	stretch               time.Duration
	address, query        string // of a process of clients
	stdout                io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		log.Fatalln("error:", err)
	}
}

func run(ctx context.Context, stdout io.Writer) error {
	c := config{stdout: stdout}
	flag.IntVar(&c.chunks, "chunks", 100_000, "chunks of the query")
	flag.IntVar(&c.clients, "clients", 500, "clients that follow it")
	flag.IntVar(&c.rate, "requests", 50, "requests to the API a second, beside these")
	flag.DurationVar(&c.stretch, "stretch", 2*time.Second, "how long each stretch takes, with watchers and without")
	flag.StringVar(&c.address, "address", "", "be the clients of the API at this address")
	flag.StringVar(&c.query, "query", "", "id of the query that they follow")
	flag.Parse()
	if c.address != "" {
		return c.watch(ctx)
	}
	return c.measure(ctx)
}

// readings gives one row for each site, at once.
type readings struct{}

func (readings) FetchPage(_ context.Context, task json.RawMessage, _ service.Walk) (service.Page, error) {
	t, err := service.DecodeTask(task)
	if err != nil {
		return service.Page{}, fmt.Errorf("read task: %w", err)
	}
	rows := fmt.Appendf(nil, `{"site":%q,"value":1}`+"\n", t.Values["site"][0])
	return service.Page{Rows: rows, Count: 1, Columns: []string{"site", "value"}, Status: 200, Bytes: int64(len(rows))}, nil
}

func (c config) measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "braid-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	e, err := open(ctx, dir)
	if err != nil {
		return err
	}
	err = c.measureIn(ctx, e)
	return errors.Join(err, e.Close())
}

func open(ctx context.Context, dir string) (*braid.Embedded, error) {
	services := filepath.Join(dir, "services")
	text, err := definition.ReadFile("readings.yaml")
	if err == nil {
		err = os.MkdirAll(services, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(services, "readings.yaml"), text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return braid.OpenEmbedded(ctx, braid.EmbeddedConfig{
		Dir: filepath.Join(dir, "data"), Workers: 2, Durability: braid.Fast,
		Definitions: braid.Definitions{Dir: services}, NamedAdapters: map[string]braid.Adapter{"readings": {Fetch: readings{}}},
		Getenv: func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

func (c config) measureIn(ctx context.Context, e *braid.Embedded) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	api, err := e.ListenAPI(ctx, braid.APIConfig{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	parts, running := errgroup.WithContext(running)
	parts.Go(func() error { return e.Run(running) })
	parts.Go(func() error { return api.Serve(running) })
	sites := make([]string, c.chunks)
	for i := range sites {
		sites[i] = fmt.Sprintf("site-%07d", i)
	}
	q, err := e.Submit(running, &query.Spec{V: query.SpecVersion, Name: "watched", Service: "readings", Collection: "latest", Values: service.Values{"site": sites}})
	if err != nil {
		return err
	}
	err = c.stretches(running, e, q.ID, api.Address())
	stop()
	return errors.Join(err, parts.Wait())
}
