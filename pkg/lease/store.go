package lease

import (
	"context"
	"errors"
	"time"
)

// ErrConflict means that a Put was refused because the key's revision is not the one it named. Nothing was written.
var ErrConflict = errors.New("the key has another revision")

// Entry is what a key holds.
type Entry struct {
	Key      string
	Value    []byte // empty: free, expired or deleted
	Revision uint64 // grows with every write to the store, markers of expiry included; 0: the key holds nothing
}

// Store is the key-value store that a Semaphore rests on. Implementations are safe for concurrent use, return when ctx
// ends, and never block a write on a slow watcher.
type Store interface {
	// Put writes value if the key's revision is the one given (0: the key holds nothing) and gives the new revision. With
	// a ttl, whole seconds, the key expires that long after the write and the expiry is written as a marker with an empty
	// value; with 0 it stays. The error is ErrConflict when the revision differs; after any other error the write may
	// have landed, or may land yet.
	Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error)
	// Get reads the key where its writes are decided, not from a copy that may be behind. A key that holds nothing is an
	// Entry with Revision 0, not an error.
	Get(ctx context.Context, key string) (Entry, error)
	// Watch sends the current entries of all keys that begin with prefix, then their changes, expiries included. Changes
	// of one key come in order and may be merged. The channel closes when ctx ends or the watch is lost; the caller
	// watches again.
	Watch(ctx context.Context, prefix string) (<-chan Entry, error)
}
