package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// suspectTTL keeps the record of a position that nobody has run for long from staying for ever; one without an open run is
// of no use at all.
const (
	suspectTTL = 30 * 24 * time.Hour
	clearedTTL = time.Minute
)

// UpdateSuspect changes what is remembered of a position by compare-and-set; edit sees nil when there is nothing that this
// build can read, and returns nil to leave it.
func (b *Bus) UpdateSuspect(ctx context.Context, query string, p messages.Position, edit func(*messages.Suspect) *messages.Suspect) error {
	key := query + "." + positionToken(p)
	for {
		old, revision, err := b.get(ctx, bucketSuspects, key)
		if err != nil {
			return fmt.Errorf("suspect %s of %s: %w", p, query, err)
		}
		var have *messages.Suspect
		if len(old) > 0 {
			if have, err = messages.DecodeSuspect(old); errors.Is(err, messages.ErrVersion) {
				return fmt.Errorf("suspect %s of %s: %w", p, query, err)
			}
		}
		want := edit(have)
		if want == nil {
			return nil
		}
		data, err := want.Encode()
		if err != nil {
			return err
		}
		ttl := suspectTTL
		if len(want.Begun) == 0 {
			ttl = clearedTTL
		}
		if _, err = b.put(ctx, bucketSuspects, key, data, revision, ttl); !errors.Is(err, messages.ErrConflict) {
			return err
		}
	}
}

func (b *Bus) removeSuspects(ctx context.Context, query string) error {
	return b.purge(ctx, streamOf(bucketSuspects), "$KV."+bucketSuspects+"."+query+".*")
}
