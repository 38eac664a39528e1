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

// traceHeader is W3C Trace Context's, as the field of OpenTelemetry's semantic conventions for messages.
const (
	traceHeader = "traceparent"
	maxTrace    = 64 // bytes; what is longer is none
)

// PublishItems queues items. One whose position is queued already is refused by the stream: when what is queued is this very
// item, that is as good as published, else it is among the refused. When the error is not nil, some may be queued: publishing
// all of them again is safe.
func (b *Bus) PublishItems(ctx context.Context, items []*messages.Item) ([]messages.Refused, error) {
	pending := make([]jetstream.PubAckFuture, 0, len(items))
	for _, item := range items {
		data, err := item.Encode()
		if err != nil {
			return nil, err
		}
		msg := nats.NewMsg(itemSubject(item.Service, item.Query, item.Position))
		msg.Data = data
		if item.Trace != "" {
			msg.Header.Set(traceHeader, item.Trace)
		}
		future, err := b.js.PublishMsgAsync(msg, jetstream.WithStallWait(10*time.Second))
		if err != nil {
			return nil, fmt.Errorf("queue position %s of %s: %w", item.Position, item.Query, b.refused(err))
		}
		pending = append(pending, future)
	}
	var exist []*messages.Item
	for i, future := range pending {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			if err = b.refused(err); !errors.Is(err, messages.ErrExists) {
				return nil, fmt.Errorf("queue position %s of %s: %w", items[i].Position, items[i].Query, err)
			}
			exist = append(exist, items[i])
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return b.standing(ctx, exist), nil
}

// refused translates the refusal of a publish, and tells the embedded server's watcher when there is no more room.
func (b *Bus) refused(err error) error {
	err = translatePublish(err)
	if errors.Is(err, messages.ErrStoreFull) {
		select {
		case b.full <- err: // nobody listens to a nil channel
		default:
		}
	}
	return err
}

// PurgeItems takes back all queued items of a query. Those in a worker's hands go on; their acks do no harm.
func (b *Bus) PurgeItems(ctx context.Context, service, query string) error {
	return b.purge(ctx, streamItems, itemsOf(service, query))
}

// purgeWait is longer than apiWait: the server answers when all is removed, and that may be a million messages.
const purgeWait = time.Minute

func (b *Bus) purge(ctx context.Context, stream, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, purgeWait)
	defer cancel()
	s, err := b.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if err != nil {
		return fmt.Errorf("purge %s of %s: %w", stream, subject, translate(err))
	}
	return nil
}

// Queue takes the items of one service. It is safe for concurrent use.
type Queue struct {
	puller
	service string
}

// Queue opens the queue of a service that EnsureQueue has made. The error wraps messages.ErrNotFound when none was made yet.
func (b *Bus) Queue(ctx context.Context, service string) (*Queue, error) {
	switch _, err := b.js.Consumer(ctx, streamItems, service); {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, fmt.Errorf("the queue of %s: %w", service, messages.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("open the queue of %s: %w", service, translate(err))
	}
	return &Queue{puller{b, streamItems, service}, service}, nil
}

// Delivery is an item in a worker's hands. It comes again when the worker says nothing for the queue's ackWait.
type Delivery struct {
	Item      *messages.Item
	Delivered int // 1 for the first delivery of the item
	inHand
}

// inHand is a message of a queue in somebody's hands.
type inHand struct {
	bus   *Bus
	reply string // where the queue hears of it
	what  string // for errors
}

// InDoubt tells whether the item may be in other hands too, or have been: it was delivered before, or is older than the connection.
// A server that was killed does not know to whom it gave its last items, and gives them out as if for the first time; that is
// why the answer may change while the item is in hand.
func (d *Delivery) InDoubt() bool {
	return d.Delivered > 1 || d.Item.Dispatched.Before(d.bus.madeAt())
}

// Take asks for at most n items, gives each to on as it comes, and returns how many came, when all n have, when wait is over
// or when ctx ends. Messages that are no items are removed from the queue and reported through bad.
//
// A request without waiting would not do: while the workers hold as many items as the queue allows, the server leaves it
// unanswered, and what it has delivered before would lie here unworked.
func (q *Queue) Take(ctx context.Context, n int, wait time.Duration, on func(*Delivery), bad func(error)) (int, error) {
	taken := 0
	err := q.pull(ctx, n, wait, func(msg *nats.Msg) {
		if d := q.open(msg, bad); d != nil {
			taken++
			on(d)
		}
	})
	if err != nil {
		return taken, fmt.Errorf("take from the queue of %s: %w", q.service, translate(err))
	}
	return taken, nil
}

func (q *Queue) open(msg *nats.Msg, bad func(error)) *Delivery {
	item, err := messages.DecodeItem(msg.Data)
	if err == nil && msg.Subject != itemSubject(item.Service, item.Query, item.Position) {
		err = fmt.Errorf("%w: an item of %s/%s under the subject %s", messages.ErrInvalid, item.Query, item.Position, msg.Subject)
	}
	if err != nil {
		bad(fmt.Errorf("queue of %s: %w", q.service, err))
		// An item of a newer version is left for a newer worker; one that nobody can read is removed.
		if errors.Is(err, messages.ErrVersion) {
			_ = q.bus.nc.Publish(msg.Reply, fmt.Appendf(nil, `-NAK {"delay": %d}`, time.Minute)) // without a connection it comes again sooner
		} else {
			_ = q.bus.nc.Publish(msg.Reply, []byte("+TERM not an item"))
		}
		return nil
	}
	if item.Trace = msg.Header.Get(traceHeader); len(item.Trace) > maxTrace {
		item.Trace = ""
	}
	d := &Delivery{Item: item, Delivered: 1, inHand: inHand{q.bus, msg.Reply, fmt.Sprintf("position %s of %s", item.Position, item.Query)}}
	if meta, err := msg.Metadata(); err == nil {
		d.Delivered = int(meta.NumDelivered) //nolint:gosec // a count of deliveries
	}
	return d
}

// ackPatience is how long an item is tried to be acknowledged: until then the queue counts it as in hand, and while a cluster chooses
// a new leader of the queue, as many are as the queue hands out at all.
const (
	ackPatience = 30 * time.Second
	ackAgain    = 500 * time.Millisecond
	ackSilences = 3 // tries that end without a word, after which the queue does not know the delivery
)

// Done removes the item from the queue: its outcome is durable. It tries once whatever ctx says, and while nobody answers for the
// queue again, until ctx ends.
func (d *inHand) Done(ctx context.Context) error {
	until := time.Now().Add(ackPatience)
	for silences := 0; ; {
		err := translate(d.acknowledge(context.WithoutCancel(ctx)))
		if err == nil {
			return nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			silences++
		}
		over := silences >= ackSilences || time.Now().After(until) || d.bus.nc.IsClosed()
		if !errors.Is(err, messages.ErrUnreachable) || ctx.Err() != nil || over {
			return fmt.Errorf("acknowledge %s: %w", d.what, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(ackAgain):
		}
	}
}

// acknowledge tries once, and waits for the queue's word.
func (d *inHand) acknowledge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiWait)
	defer cancel()
	_, err := d.bus.nc.RequestWithContext(ctx, d.reply, []byte("+ACK"))
	return err
}

// HandBack puts the item back at once for another worker.
func (d *inHand) HandBack() error {
	if err := d.bus.nc.Publish(d.reply, []byte("-NAK")); err != nil {
		return fmt.Errorf("hand back %s: %w", d.what, translate(err))
	}
	return nil
}

// InProgress says that the worker is still at it.
func (d *inHand) InProgress() error {
	if err := d.bus.nc.Publish(d.reply, []byte("+WPI")); err != nil {
		return fmt.Errorf("keep %s: %w", d.what, translate(err))
	}
	return nil
}
