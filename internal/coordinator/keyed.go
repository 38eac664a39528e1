package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

const (
	// keyedTries is how many ids a key has: one may be taken by a query of another key, or by the mark of one that was removed.
	keyedTries = 4
	// keyedLetters make an id that two keys hardly share: 60 bits.
	keyedLetters = 12
)

// keyedID is the id of a query that is submitted under a key. It follows from the key alone, so that of all coordinators to which
// the same is submitted at once one creates the query, and the others find it.
func keyedID(key string, try int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, try))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:keyedLetters])
}

// digestOf is the digest of a spec as it was submitted, with what is resolved anew at each start.
func digestOf(spec *query.Spec) (string, error) {
	text, err := spec.Encode()
	if err != nil {
		return "", fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	return service.Digest(text), nil
}

// repeated gives the query that was submitted under the key before, with an error that wraps query.ErrRepeated; nil and nil when none was.
func (c *Coordinator) repeated(ctx context.Context, key, spec string) (*messages.Query, error) {
	for try := range keyedTries {
		q, err := c.repeatedAs(ctx, keyedID(key, try), key, spec)
		if q != nil || err != nil {
			return q, err
		}
	}
	return nil, nil //nolint:nilnil // none was
}

func (c *Coordinator) repeatedAs(ctx context.Context, id, key, spec string) (*messages.Query, error) {
	q, _, err := c.ports.Queries.LoadQuery(ctx, id)
	switch {
	case errors.Is(err, messages.ErrNotFound), err == nil && q.Key != key:
		return nil, nil //nolint:nilnil // nothing of this key is there
	case err != nil:
		return nil, err
	case q.Asked != spec:
		return nil, fmt.Errorf("submit: %w: query %s was submitted under it, and asks something else; take a new key for a new query", query.ErrKeyReused, q.ID)
	}
	return q, fmt.Errorf("submit: %w: it is query %s", query.ErrRepeated, q.ID)
}

// create stores a new query under a new id, or the one that follows from its key.
func (c *Coordinator) create(ctx context.Context, q *messages.Query, text []byte) error {
	for try := 0; ; try++ {
		if q.ID = c.ports.NewID(); q.Key != "" {
			q.ID = keyedID(q.Key, try)
		}
		err := c.ports.Queries.CreateQuery(ctx, q, text)
		if err == nil || !errors.Is(err, messages.ErrConflict) {
			return err
		}
		if q.Key != "" && try+1 == keyedTries {
			return err
		}
		if q.Key == "" {
			continue
		}
		if known, err := c.repeatedAs(ctx, q.ID, q.Key, q.Asked); known != nil || err != nil {
			if known != nil {
				*q = *known
			}
			return err
		}
	}
}
