package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

// ListServices reads the records of all services, in no order. Those that cannot be read are left out.
func (b *Bus) ListServices(ctx context.Context) ([]*messages.Service, error) {
	var all []*messages.Service
	err := b.listNow(ctx, bucketServices, serviceKey+"*", func(c *change) {
		if m, err := messages.DecodeService(c.value); err == nil {
			all = append(all, m)
		}
	})
	return all, err
}

// EachHolder calls on with each slot that is held now, in no order.
func (b *Bus) EachHolder(ctx context.Context, on func(lease.SlotName, lease.Holding)) error {
	return b.listNow(ctx, bucketLeases, ">", func(c *change) {
		slot, ok := lease.ParseSlotName(c.key)
		if !ok {
			return
		}
		if h, err := lease.DecodeHolding(c.value); err == nil {
			on(slot, h)
		}
	})
}

// listNow calls on with each value that a bucket holds now.
func (b *Bus) listNow(ctx context.Context, bucket, pattern string, on func(*change)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := b.watch(ctx, bucket, pattern, func(c *change) {
		switch {
		case c == nil:
			cancel(errStopWatch)
		case len(c.value) > 0 && ctx.Err() == nil:
			on(c)
		}
	})
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list %s: %w", bucket, context.Cause(ctx))
	}
	return err
}
