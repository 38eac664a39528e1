package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	// runPending is how many items of a run may be in hand: more than it has places, for those in the hands of the dead count.
	runPending = 4 * load.MaxPlaces
	// queueLife is after how long without anybody who asks the queue of a run goes by itself. A run that is worked on is asked for all the time.
	queueLife = 7 * 24 * time.Hour
	laterRead = time.Minute // until an item of a newer version is offered again
)

// EnsureRunQueue makes the queue from which all workers take the items of a run, in the order in which they were published. ackWait must be
// longer than an execution may be without a sign of life.
func (b *Bus) EnsureRunQueue(ctx context.Context, r *load.Run, ackWait time.Duration) error {
	if err := checkRunID(r.ID); err != nil {
		return err
	}
	_, err := b.js.CreateOrUpdateConsumer(ctx, streamLoadItems, jetstream.ConsumerConfig{
		Durable: r.ID, FilterSubject: loadItemsOf(r.ID), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: ackWait, MaxDeliver: -1, MaxAckPending: runPending, MaxWaiting: 2048, InactiveThreshold: queueLife,
	})
	if err != nil {
		return fmt.Errorf("make the queue of run %s: %w", r.ID, translate(err))
	}
	return nil
}

// PublishLoadItems queues items. One whose number is queued already is as good as published. When the error is not nil, some may be queued:
// publishing all of them again is safe.
func (b *Bus) PublishLoadItems(ctx context.Context, items []*load.Item) error {
	pending := make([]jetstream.PubAckFuture, 0, len(items))
	for _, item := range items {
		data, err := item.Encode()
		if err != nil {
			return err
		}
		msg := nats.NewMsg(loadItemSubject(item.Run, item.Number))
		msg.Data = data
		future, err := b.js.PublishMsgAsync(msg, jetstream.WithStallWait(10*time.Second))
		if err != nil {
			return fmt.Errorf("queue %d of run %s: %w", item.Number, item.Run, b.refused(err))
		}
		pending = append(pending, future)
	}
	for i, future := range pending {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			if err = b.refused(err); !errors.Is(err, messages.ErrExists) {
				return fmt.Errorf("queue %d of run %s: %w", items[i].Number, items[i].Run, err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// PurgeRun removes what is queued of a run. What somebody has taken does not come again, and its acknowledgement does no harm.
func (b *Bus) PurgeRun(ctx context.Context, run string) error {
	if err := checkRunID(run); err != nil {
		return err
	}
	return b.purge(ctx, streamLoadItems, loadItemsOf(run))
}

// RunQueue takes the items of one run. It is safe for concurrent use.
type RunQueue struct {
	puller
	run string
}

// RunQueue opens the queue of a run that EnsureRunQueue has made. The error wraps messages.ErrNotFound when there is none.
func (b *Bus) RunQueue(ctx context.Context, run string) (*RunQueue, error) {
	if err := checkRunID(run); err != nil {
		return nil, err
	}
	if _, err := b.js.Consumer(ctx, streamLoadItems, run); err != nil {
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			err = fmt.Errorf("%w: %w", messages.ErrNotFound, err)
		}
		return nil, fmt.Errorf("open the queue of run %s: %w", run, translate(err))
	}
	return &RunQueue{puller{b, streamLoadItems, run}, run}, nil
}

// LoadDelivery is an item of a run in a worker's hands. It comes again when the worker says nothing for the queue's ackWait.
type LoadDelivery struct {
	Item     *load.Item
	Attempt  int       // deliveries of the item, this one included
	Enqueued time.Time // when the stream stored it, by its servers' clock
	inHand
}

// TakeOne waits for the next item of the run, for so long at most; nil: none came. An item that cannot be read is removed from the queue and
// reported through bad; one of a newer version is left for a newer worker.
func (q *RunQueue) TakeOne(ctx context.Context, wait time.Duration, bad func(error)) (*LoadDelivery, error) {
	var taken *LoadDelivery
	err := q.pull(ctx, 1, wait, func(msg *nats.Msg) { taken = q.open(msg, bad) })
	if err != nil && taken == nil {
		return nil, fmt.Errorf("take from the queue of run %s: %w", q.run, translate(err))
	}
	return taken, nil
}

func (q *RunQueue) open(msg *nats.Msg, bad func(error)) *LoadDelivery {
	item, err := load.DecodeItem(msg.Data)
	if err == nil && msg.Subject != loadItemSubject(item.Run, item.Number) {
		err = fmt.Errorf("%w: an item of %d of %s under the subject %s", messages.ErrInvalid, item.Number, item.Run, msg.Subject)
	}
	if err != nil {
		bad(fmt.Errorf("queue of run %s: %w", q.run, err))
		if errors.Is(err, messages.ErrVersion) {
			_ = q.bus.nc.Publish(msg.Reply, fmt.Appendf(nil, `-NAK {"delay": %d}`, laterRead)) // without a connection it comes again sooner
		} else {
			_ = q.bus.nc.Publish(msg.Reply, []byte("+TERM not an item"))
		}
		return nil
	}
	d := &LoadDelivery{Item: item, Attempt: 1, Enqueued: q.bus.Now(), inHand: inHand{q.bus, msg.Reply, fmt.Sprintf("%d of run %s", item.Number, item.Run)}}
	if meta, err := msg.Metadata(); err == nil {
		d.Attempt, d.Enqueued = int(meta.NumDelivered), meta.Timestamp //nolint:gosec // a count of deliveries
	}
	return d
}
