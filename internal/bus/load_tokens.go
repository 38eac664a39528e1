package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// maxToken bounds what is kept for one identity.
const maxToken = 64 << 10

// TokenStore keeps what workers share of their sessions at services, each under a name and for a time. It holds what it is given, which is to
// be ciphertext: who reads the store must learn nothing. It is safe for concurrent use.
type TokenStore struct{ bus *Bus }

// Tokens is the store of the sessions.
func (b *Bus) Tokens() *TokenStore { return &TokenStore{b} }

// Load reads what is kept under key, which fits messages.CheckName, and its revision. Nothing, or what has expired, is no error: value is nil,
// and the revision is what Save is to be given.
func (s *TokenStore) Load(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	if err := messages.CheckName(key); err != nil {
		return nil, 0, fmt.Errorf("key of a session: %w", err)
	}
	return s.bus.get(ctx, bucketTokens, key)
}

// Save is compare-and-set; revision 0: nothing is kept yet. The value is forgotten after ttl, which is rounded up to seconds. The error wraps
// messages.ErrConflict when somebody was first.
func (s *TokenStore) Save(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if err := messages.CheckName(key); err != nil {
		return 0, fmt.Errorf("key of a session: %w", err)
	}
	if len(value) > maxToken || ttl <= 0 || ttl > 30*24*time.Hour {
		return 0, fmt.Errorf("keep a session: %w: %d bytes for %v, want at most %d for more than 0 and up to 30 days", messages.ErrInvalid, len(value), ttl, maxToken)
	}
	return s.bus.put(ctx, bucketTokens, key, value, revision, wholeSeconds(ttl))
}

// wholeSeconds rounds up to what the server counts in.
func wholeSeconds(d time.Duration) time.Duration {
	return max(time.Second, (d + time.Second - 1).Truncate(time.Second))
}
