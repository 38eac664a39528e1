package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

// LeaseStore keeps slots in a bucket. It is a lease.Store.
type LeaseStore struct {
	bus    *Bus
	bucket string
}

// Leases is the store of the services' slots.
func (b *Bus) Leases() *LeaseStore { return &LeaseStore{b, bucketLeases} }

// Leader is the store of the leading coordinator's slot.
func (b *Bus) Leader() *LeaseStore { return &LeaseStore{b, bucketLeader} }

// Put is lease.Store's: compare-and-set with a TTL in whole seconds.
func (s *LeaseStore) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	revision, err := s.bus.put(ctx, s.bucket, key, value, revision, ttl)
	if errors.Is(err, messages.ErrConflict) {
		return 0, fmt.Errorf("%w: %w", lease.ErrConflict, err)
	}
	return revision, err
}

// Get is lease.Store's: it reads from the leader of the stream.
func (s *LeaseStore) Get(ctx context.Context, key string) (lease.Entry, error) {
	value, revision, err := s.bus.get(ctx, s.bucket, key)
	return lease.Entry{Key: key, Value: value, Revision: revision}, err
}

// Watch is lease.Store's: an expired or purged key comes with an empty value.
func (s *LeaseStore) Watch(ctx context.Context, prefix string) (<-chan lease.Entry, error) {
	kv, err := s.bus.js.KeyValue(ctx, s.bucket)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.bucket, translate(err))
	}
	_ = kv // the bucket is there; the watch itself runs below
	out := make(chan lease.Entry, 64)
	go func() {
		defer close(out) // the reader learns from this that the watch is lost, and why from its own context
		_ = s.bus.watch(ctx, s.bucket, prefix+">", func(c *change) {
			if c == nil {
				return
			}
			select {
			case out <- lease.Entry{Key: c.key, Value: c.value, Revision: c.revision}:
			case <-ctx.Done():
			}
		})
	}()
	return out, nil
}
