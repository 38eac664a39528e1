package superset

import (
	"context"
	"time"
)

// Tokens is where workers share the tokens of an environment. What is stored is encrypted; keys have no secret in them and are made of
// letters, digits, dots and dashes. Safe for concurrent use.
type Tokens interface {
	// Load gives what is stored under a key, with its revision. The error wraps messages.ErrNotFound when nothing is.
	Load(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Save stores a value over the one of that revision, 0 when there is none, for at least so long. The error wraps messages.ErrConflict
	// when another one is there.
	Save(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error)
}
