package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// UpdateQuota changes the account of an owner at a pool by compare-and-set; edit sees nil when there is none, or none that can
// be read, and returns nil to leave it. It may be called several times. An account that nobody uses goes when nothing in it
// counts any more.
func (b *Bus) UpdateQuota(ctx context.Context, pool, owner string, edit func(*messages.QuotaLedger) *messages.QuotaLedger) error {
	if err := errors.Join(messages.CheckName(pool), messages.CheckName(owner)); err != nil {
		return fmt.Errorf("quota pool: %w", err)
	}
	key := pool + "." + owner
	for {
		old, revision, err := b.get(ctx, bucketQuota, key)
		if err != nil {
			return err
		}
		var have *messages.QuotaLedger
		if len(old) > 0 {
			have, err = messages.DecodeQuotaLedger(old)
			if errors.Is(err, messages.ErrVersion) {
				return fmt.Errorf("quota pool %s: %w", pool, err)
			} // what is damaged is begun anew: the service's own word corrects it with the next answer
		}
		want := edit(have)
		if want == nil {
			return nil
		}
		data, err := want.Encode()
		if err != nil {
			return err
		}
		_, err = b.put(ctx, bucketQuota, key, data, revision, quotaLife(want.Window))
		if !errors.Is(err, messages.ErrConflict) {
			return err
		}
	}
}

// quotaLife is how long an account is kept after its last change: a limit that was learnt is worth keeping for a day.
func quotaLife(window time.Duration) time.Duration {
	return (2*window + 24*time.Hour).Truncate(time.Second)
}

// ListQuotas reads all accounts, in no order. Those that cannot be read are left out.
func (b *Bus) ListQuotas(ctx context.Context) ([]*messages.QuotaLedger, error) {
	return b.listQuotas(ctx, ">")
}

// PoolQuotas reads the accounts of one pool, in no order.
func (b *Bus) PoolQuotas(ctx context.Context, pool string) ([]*messages.QuotaLedger, error) {
	if err := messages.CheckName(pool); err != nil {
		return nil, fmt.Errorf("quota pool: %w", err)
	}
	return b.listQuotas(ctx, pool+".*")
}

func (b *Bus) listQuotas(ctx context.Context, pattern string) ([]*messages.QuotaLedger, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all []*messages.QuotaLedger
	err := b.watch(ctx, bucketQuota, pattern, func(c *change) {
		switch {
		case c == nil:
			cancel(errStopWatch)
		case len(c.value) > 0:
			if l, err := messages.DecodeQuotaLedger(c.value); err == nil {
				all = append(all, l)
			}
		}
	})
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list quotas: %w", context.Cause(ctx))
	}
	return all, err
}

// CountWorkers tells how many workers are there.
func (b *Bus) CountWorkers(ctx context.Context) (int, error) {
	all, err := b.ListWorkers(ctx)
	return len(all), err
}
