package braid

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/pkg/load"
)

type runQueues struct {
	bus *bus.Bus
	log *slog.Logger
}

// RunQueue is executor.Queues'.
func (q runQueues) RunQueue(ctx context.Context, run string) (executor.Queue, error) {
	queue, err := q.bus.RunQueue(ctx, run)
	if err != nil {
		return nil, err
	}
	return runQueue{queue, q.log}, nil
}

type runQueue struct {
	queue *bus.RunQueue
	log   *slog.Logger
}

// TakeOne is executor.Queue's.
func (q runQueue) TakeOne(ctx context.Context, wait time.Duration) (executor.Delivery, error) {
	d, err := q.queue.TakeOne(ctx, wait, func(err error) { q.log.Error("a message in the queue of a load run is no item", "error", err) })
	if d == nil {
		return nil, err
	}
	return loadDelivery{d}, nil
}

type loadDelivery struct{ *bus.LoadDelivery }

func (d loadDelivery) Item() *load.Item    { return d.LoadDelivery.Item }
func (d loadDelivery) Attempt() int        { return d.LoadDelivery.Attempt }
func (d loadDelivery) Enqueued() time.Time { return d.LoadDelivery.Enqueued }
