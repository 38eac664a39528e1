package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	queryKey    = "query."
	progressKey = "progress."
	specKey     = "spec."
)

// CreateQuery stores a new query with its spec. The spec goes first: the record is what makes the query exist. The
// error wraps messages.ErrConflict when the id is taken.
func (b *Bus) CreateQuery(ctx context.Context, q *messages.Query, spec []byte) error {
	if err := b.putBlob(ctx, bucketQueries, specKey+q.Spec, spec); err != nil {
		return fmt.Errorf("store the spec of %s: %w", q.ID, err)
	}
	if _, err := b.SaveQuery(ctx, q, 0); err != nil {
		return err
	}
	// Whoever removed the last other query with this spec before the record was there may have removed the spec just now.
	have, _, err := b.get(ctx, bucketQueries, specKey+q.Spec+".0")
	if err == nil && len(have) == 0 {
		err = b.putBlob(ctx, bucketQueries, specKey+q.Spec, spec)
	}
	if err != nil {
		return fmt.Errorf("store the spec of %s: %w", q.ID, err)
	}
	return nil
}

// SaveQuery changes the record by compare-and-set. The error wraps messages.ErrConflict when revision is not the last.
func (b *Bus) SaveQuery(ctx context.Context, q *messages.Query, revision uint64) (uint64, error) {
	data, err := q.Encode()
	if err != nil {
		return 0, err
	}
	return b.put(ctx, bucketQueries, queryKey+q.ID, data, revision, 0)
}

// LoadQuery reads a record and its revision. The error wraps messages.ErrNotFound.
func (b *Bus) LoadQuery(ctx context.Context, id string) (*messages.Query, uint64, error) {
	if err := messages.CheckName(id); err != nil {
		return nil, 0, fmt.Errorf("query id: %w", err)
	}
	data, revision, err := b.get(ctx, bucketQueries, queryKey+id)
	if err != nil {
		return nil, 0, err
	}
	if len(data) == 0 {
		return nil, 0, fmt.Errorf("query %s: %w", id, messages.ErrNotFound)
	}
	q, err := messages.DecodeQuery(data)
	if err != nil {
		return nil, revision, fmt.Errorf("record of query %s: %w", id, err)
	}
	return q, revision, nil
}

// LoadSpec reads the pinned spec of a query.
func (b *Bus) LoadSpec(ctx context.Context, q *messages.Query) ([]byte, error) {
	data, err := b.getBlob(ctx, bucketQueries, specKey+q.Spec, q.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec of query %s: %w", q.ID, err)
	}
	return data, nil
}

var errStopWatch = errors.New("seen all")

// ListQueries reads all records, in no order. One that cannot be read is logged with its name, and does not hide the others.
func (b *Bus) ListQueries(ctx context.Context) ([]*messages.Query, error) {
	return b.listQueries(ctx, func(id string, err error) {
		b.log.Error("a query's record cannot be read; it is left alone", "query", id, "error", err)
	})
}

func (b *Bus) listQueries(ctx context.Context, bad func(id string, err error)) ([]*messages.Query, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all []*messages.Query
	err := b.watch(ctx, bucketQueries, queryKey+"*", func(c *change) {
		switch {
		case c == nil:
			cancel(errStopWatch)
		case len(c.value) > 0:
			q, err := messages.DecodeQuery(c.value)
			if err != nil {
				bad(strings.TrimPrefix(c.key, queryKey), err)
				return
			}
			all = append(all, q)
		}
	})
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list queries: %w", context.Cause(ctx))
	}
	return all, err
}

// WatchQueries calls on with each record, its revision, and each change; a removed query has a nil record. caughtUp is
// called once, when all that existed at the start has been seen. It returns when ctx ends or the watch is lost.
func (b *Bus) WatchQueries(ctx context.Context, on func(id string, q *messages.Query, revision uint64, err error), caughtUp func()) error {
	return b.watch(ctx, bucketQueries, queryKey+"*", func(c *change) {
		if c == nil {
			caughtUp()
			return
		}
		id := strings.TrimPrefix(c.key, queryKey)
		if len(c.value) == 0 {
			on(id, nil, c.revision, nil)
			return
		}
		q, err := messages.DecodeQuery(c.value)
		on(id, q, c.revision, err)
	})
}

// SaveProgress overwrites the cached progress of a query.
func (b *Bus) SaveProgress(ctx context.Context, p *messages.Progress) error {
	data, err := p.Encode()
	if err != nil {
		return err
	}
	return b.update(ctx, bucketQueries, progressKey+p.Query, func([]byte) ([]byte, error) { return data, nil })
}

// LoadProgress reads the cached progress. The error wraps messages.ErrNotFound before the first.
func (b *Bus) LoadProgress(ctx context.Context, id string) (*messages.Progress, error) {
	data, _, err := b.get(ctx, bucketQueries, progressKey+id)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("progress of query %s: %w", id, messages.ErrNotFound)
	}
	return messages.DecodeProgress(data)
}

// RemoveQuery removes the record first, so that nobody works on the query any more, and then all that belongs to it. The
// error wraps messages.ErrConflict when the record is not q any more.
func (b *Bus) RemoveQuery(ctx context.Context, q *messages.Query) error {
	have, revision, err := b.LoadQuery(ctx, q.ID)
	switch {
	case errors.Is(err, messages.ErrNotFound): // a removal that was cut short is finished
	case err != nil:
		return err
	case have.Run != q.Run || have.State != q.State || !have.Updated.Equal(q.Updated):
		return fmt.Errorf("remove query %s: %w", q.ID, messages.ErrConflict)
	default:
		if err := b.remove(ctx, bucketQueries, queryKey+q.ID, revision); err != nil {
			return err
		}
	}
	purges := []struct{ stream, subject string }{
		{streamItems, itemsOf(q.Service, q.ID)},
		{streamResults, resultsOf(q.ID)},
		{streamParts, partsOf(q.ID)},
		{streamParts, pagesOf(q.ID)},
		{streamEvents, eventsOf(q.ID)},
	}
	for _, p := range purges {
		if err := b.purge(ctx, p.stream, p.subject); err != nil {
			return err
		}
	}
	if err := b.removeSuspects(ctx, q.ID); err != nil {
		return err
	}
	if err := b.remove(ctx, bucketQueries, progressKey+q.ID, 0); err != nil {
		return err
	}
	return b.removeSpec(ctx, q)
}

// removeSpec removes the spec of a query whose record is gone, unless another query has the same one.
func (b *Bus) removeSpec(ctx context.Context, q *messages.Query) error {
	needed := false
	others, err := b.listQueries(ctx, func(string, error) { needed = true }) // it may be this very spec's
	if err != nil {
		return err
	}
	for _, other := range others {
		needed = needed || other.Spec == q.Spec
	}
	if needed {
		return nil
	}
	// Purged and not deleted: a marker in its place would stand in the way of the next query with this spec.
	return b.purge(ctx, streamOf(bucketQueries), "$KV."+bucketQueries+"."+specKey+q.Spec+".*")
}
