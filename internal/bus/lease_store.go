package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

// LeaseStore keeps slots in a bucket. It is a lease.Store.
type LeaseStore struct {
	bus    *Bus
	bucket string

	mu   sync.Mutex // guards all below
	made time.Time  // when the bucket was made that was last looked at, by the servers' clock
	anew time.Time  // when it was made, by our clock, if another was there before while we ran
}

// errForgotten refuses what would be granted while leases may be trusted of which nothing is stored any more.
var errForgotten = fmt.Errorf("%w: the bucket of the slots is not the one that it was: its leases are lost, and those that may still be trusted end first", messages.ErrUnreachable)

// Leases is the store of the services' slots.
func (b *Bus) Leases() *LeaseStore { return &LeaseStore{bus: b, bucket: bucketLeases} }

// Leader is the store of the leading coordinator's slot.
func (b *Bus) Leader() *LeaseStore { return &LeaseStore{bus: b, bucket: bucketLeader} }

// Put is lease.Store's: compare-and-set with a TTL in whole seconds. When the bucket was lost and made anew while this process
// runs, it refuses for one TTL.
func (s *LeaseStore) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if s.forgotten(ttl) {
		return 0, errForgotten
	}
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
	stream, err := s.bus.js.Stream(ctx, streamOf(s.bucket))
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.bucket, translate(err))
	}
	s.look(stream.CachedInfo())
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

// look takes in which bucket it is. Whoever holds a slot or waits for one has a watch of the bucket, which is lost with it; a lost
// bucket is found when it is opened again, before anybody sees that the slots of others look free.
func (s *LeaseStore) look(info *jetstream.StreamInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made.IsZero() && !info.Created.Equal(s.made) {
		age := max(0, info.TimeStamp.Sub(info.Created)) // both by the clocks of the servers
		s.anew = time.Now().Add(-age)
		s.bus.log.Error("the bucket of the slots was made anew; nothing is granted until all leases of the lost one have ended", "bucket", s.bucket)
	}
	s.made = info.Created
}

// forgotten tells whether leases of a lost bucket may still be trusted by somebody.
func (s *LeaseStore) forgotten(ttl time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.anew.IsZero() && time.Since(s.anew) < ttl
}
