package testkit

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
)

// Worker makes a worker on a bus; edit, when not nil, changes its ports before.
func Worker(t testing.TB, b *bus.Bus, cfg worker.Config, upstreams worker.Upstreams, edit func(*worker.Ports)) *worker.Worker {
	t.Helper()
	ports := worker.Ports{
		Queues: Queues{b}, Results: Results{b}, Records: b, Quotas: b, Upstreams: upstreams, Leases: b.Leases(),
		NewID: rand.Text, Rand: chance{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&ports)
	}
	w, err := worker.New(cfg, ports)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

type chance struct{}

func (chance) Int64N(n int64) int64 { return mathrand.Int64N(n) }

// Queues is the bus as worker.Queues.
type Queues struct{ Bus *bus.Bus }

// Queue is worker.Queues'.
func (q Queues) Queue(ctx context.Context, service string) (worker.Queue, error) {
	opened, err := q.Bus.Queue(ctx, service)
	return queue{opened}, err
}

type queue struct{ queue *bus.Queue }

func (q queue) Take(ctx context.Context, n int, wait time.Duration, on func(worker.Delivery)) (int, error) {
	return q.queue.Take(ctx, n, wait, func(d *bus.Delivery) { on(delivery{d}) }, func(error) {})
}

type delivery struct{ *bus.Delivery }

func (d delivery) Item() *messages.Item { return d.Delivery.Item }
func (d delivery) Redelivered() bool    { return d.Delivered > 1 }
func (d delivery) Deliveries() int      { return d.Delivered }

// Results is the bus as worker.Results.
type Results struct{ *bus.Bus }

// NewResult is worker.Results'.
func (r Results) NewResult(query, attempt string) worker.Result {
	return r.Bus.NewResult(query, attempt)
}

// Hearing is worker.Records that tell each state of a query once the worker has heard of it.
type Hearing struct {
	worker.Records
	Heard chan<- messages.QueryState // with room for all of them
}

// WatchQueries is worker.Records'.
func (h Hearing) WatchQueries(ctx context.Context, on func(string, *messages.Query, uint64, error), caughtUp func()) error {
	return h.Records.WatchQueries(ctx, func(id string, q *messages.Query, revision uint64, err error) {
		on(id, q, revision, err)
		if q != nil {
			h.Heard <- q.State
		}
	}, caughtUp)
}
