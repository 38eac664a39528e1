package braid

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
)

// The worker's ports speak of interfaces where the bus has types; these are the seams between them.

type workerQueues struct {
	bus *bus.Bus
	log *slog.Logger
}

func (q workerQueues) Queue(ctx context.Context, service string) (worker.Queue, error) {
	queue, err := q.bus.Queue(ctx, service)
	if err != nil {
		return nil, err
	}
	return workerQueue{queue, q.log}, nil
}

type workerQueue struct {
	queue *bus.Queue
	log   *slog.Logger
}

func (q workerQueue) Take(ctx context.Context, n int, wait time.Duration, on func(worker.Delivery)) (int, error) {
	return q.queue.Take(ctx, n, wait, func(d *bus.Delivery) { on(delivery{d}) },
		func(err error) { q.log.Error("a message in the queue is no item", "error", err) })
}

type delivery struct{ *bus.Delivery }

func (d delivery) Item() *messages.Item { return d.Delivery.Item }
func (d delivery) Redelivered() bool    { return d.Delivered > 1 }
func (d delivery) Deliveries() int      { return d.Delivered }

type workerResults struct{ *bus.Bus }

func (r workerResults) NewResult(query, attempt string) worker.Result {
	return r.Bus.NewResult(query, attempt)
}
