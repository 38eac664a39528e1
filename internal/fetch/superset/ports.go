package superset

import (
	"context"
	"time"
)

// Tokens is where workers share the tokens of an environment. What is stored is encrypted; keys have no secret in them and fit
// messages.CheckName. Safe for concurrent use.
type Tokens interface {
	// Load gives what is stored under a key, with its revision. Nothing is no error: value is nil, and revision is what Save is to be given.
	Load(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Save stores a value over that of the revision that Load gave, and forgets it after ttl. The error wraps messages.ErrConflict when
	// somebody was first.
	Save(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error)
}
