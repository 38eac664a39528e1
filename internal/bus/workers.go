package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// SaveWorker says that a worker is there for the next ttl.
func (b *Bus) SaveWorker(ctx context.Context, w *messages.Worker, ttl time.Duration) error {
	data, err := w.Encode()
	if err != nil {
		return err
	}
	msg := nats.NewMsg("$KV." + bucketWorkers + "." + workerKey(w.ID, w.Instance))
	msg.Data = data
	// Nobody else writes this key: the newest word of the worker stands.
	if _, err := b.js.PublishMsg(ctx, msg, jetstream.WithMsgTTL(ttl)); err != nil {
		return fmt.Errorf("say that worker %s is there: %w", w.ID, b.refused(err))
	}
	return nil
}

// workerKey tells processes apart whose workers have the same id.
func workerKey(id, instance string) string {
	if instance == "" {
		return id
	}
	return id + "." + instance
}

// RemoveWorker says that a worker has gone.
func (b *Bus) RemoveWorker(ctx context.Context, id, instance string) error {
	return b.remove(ctx, bucketWorkers, workerKey(id, instance), 0)
}

// WatchWorkers calls on with each worker that is there and with each word of one, with nil when one says that it has gone, and caughtUp
// once in between; key is the id, and what tells processes with the same id apart behind a dot. Of one that died nothing is heard any more. It
// returns when ctx ends, or with an error when the watch is lost.
func (b *Bus) WatchWorkers(ctx context.Context, on func(key string, w *messages.Worker), caughtUp func()) error {
	return b.watch(ctx, bucketWorkers, ">", func(c *change) {
		switch {
		case c == nil:
			caughtUp()
		case len(c.value) == 0:
			on(c.key, nil)
		default:
			if w, err := messages.DecodeWorker(c.value); err == nil {
				on(c.key, w)
			}
		}
	})
}

// ListWorkers reads who is there, in no order.
func (b *Bus) ListWorkers(ctx context.Context) ([]*messages.Worker, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all []*messages.Worker
	err := b.watch(ctx, bucketWorkers, ">", func(c *change) {
		switch {
		case c == nil:
			cancel(errStopWatch)
		case len(c.value) > 0:
			if w, err := messages.DecodeWorker(c.value); err == nil {
				all = append(all, w)
			}
		}
	})
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list workers: %w", context.Cause(ctx))
	}
	return all, err
}
