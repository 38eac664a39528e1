package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/pkg/messages"
)

// Overview is what the store holds at one moment, for those who watch over the whole system.
type Overview struct {
	Queries []*messages.Query
	Queues  []QueueDepth
	Gates   []*messages.Gate
	Quotas  []*messages.QuotaLedger
	Workers int
	Streams []StreamUse
}

// QueueDepth is the items of a service that are not done.
type QueueDepth struct {
	Service string
	Slots   int    // requests in flight at most
	Pending uint64 // waiting for a worker
	InHand  uint64 // with workers, not acknowledged
}

// StreamUse is how full a stream is.
type StreamUse struct {
	Name     string
	Bytes    uint64
	Limit    int64 // in bytes; -1: none of its own
	Messages uint64
}

const (
	overviewAtOnce = 4
	mostQueues     = 1000 // that are asked for their depth
)

// Overview reads how all stands. Records that cannot be read are left out. It costs a watch of each bucket and a question for each
// service, so it is for some calls a minute.
func (b *Bus) Overview(ctx context.Context) (*Overview, error) {
	o := &Overview{}
	var reading errgroup.Group
	reading.SetLimit(overviewAtOnce)
	reading.Go(func() (err error) {
		o.Queries, err = b.listQueries(ctx, func(string, error) {})
		return err
	})
	reading.Go(func() (err error) { o.Queues, err = b.queueDepths(ctx); return err })
	reading.Go(func() (err error) { o.Gates, err = b.listGates(ctx); return err })
	reading.Go(func() (err error) { o.Quotas, err = b.ListQuotas(ctx); return err })
	reading.Go(func() (err error) { o.Workers, err = b.CountWorkers(ctx); return err })
	reading.Go(func() (err error) { o.Streams, err = b.streamUse(ctx); return err })
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	return o, nil
}

// once calls on with all values of a bucket, as they are now.
func (b *Bus) once(ctx context.Context, bucket, pattern string, on func(value []byte)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := b.watch(ctx, bucket, pattern, func(c *change) {
		switch {
		case c == nil:
			cancel(errStopWatch)
		case len(c.value) > 0:
			on(c.value)
		}
	})
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list %s: %w", bucket, context.Cause(ctx))
	}
	return err
}

func (b *Bus) listGates(ctx context.Context) (all []*messages.Gate, err error) {
	err = b.once(ctx, bucketGates, "*", func(value []byte) {
		if g, err := messages.DecodeGate(value); err == nil {
			all = append(all, g)
		}
	})
	return all, err
}

func (b *Bus) queueDepths(ctx context.Context) (depths []QueueDepth, err error) {
	var services []*messages.Service
	err = b.once(ctx, bucketServices, serviceKey+"*", func(value []byte) {
		if s, err := messages.DecodeService(value); err == nil && len(services) < mostQueues {
			services = append(services, s)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		depth := QueueDepth{Service: s.Name, Slots: s.Slots}
		consumer, err := b.js.Consumer(ctx, streamItems, s.Name)
		switch {
		case errors.Is(err, jetstream.ErrConsumerNotFound): // it goes with its stream, and is made again for the next query
		case err != nil:
			return nil, fmt.Errorf("look at the queue of %s: %w", s.Name, translate(err))
		default:
			info := consumer.CachedInfo()
			depth.Pending, depth.InHand = info.NumPending, uint64(max(0, info.NumAckPending)) //nolint:gosec // a count
		}
		depths = append(depths, depth)
	}
	return depths, nil
}

func (b *Bus) streamUse(ctx context.Context) (uses []StreamUse, err error) {
	for _, name := range []string{streamItems, streamResults, streamParts, streamEvents, streamLoadItems, streamLoad} {
		stream, err := b.js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", name, translate(err))
		}
		info := stream.CachedInfo()
		uses = append(uses, StreamUse{Name: name, Bytes: info.State.Bytes, Limit: info.Config.MaxBytes, Messages: info.State.Msgs})
	}
	return uses, nil
}

// Reconnections tells how often the connection was made anew.
func (b *Bus) Reconnections() uint64 { return b.nc.Stats().Reconnects }
