package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
)

// standingKeys match the records and the progress of all queries, and none of the specs that lie beside them: the keys of these have
// three parts.
const standingKeys = "*.*"

// WatchStandings calls on with the record and the progress of each query, each by itself, and with each change of either; of a change
// one of query and progress is given, and of what was removed neither: then the record is gone. Revisions are of one sequence over all
// queries, and come in ascending order. caughtUp is called once, when all that existed at the start has been seen. It returns when ctx
// ends, or when the watch is lost. What cannot be read is logged, and left out.
func (b *Bus) WatchStandings(ctx context.Context, on func(id string, q *messages.Query, p *messages.Progress, revision uint64), caughtUp func()) error {
	return b.watch(ctx, bucketQueries, standingKeys, func(c *change) {
		if c == nil {
			caughtUp()
			return
		}
		if id, ok := strings.CutPrefix(c.key, queryKey); ok {
			b.recordChanged(id, c, on)
			return
		}
		id, ok := strings.CutPrefix(c.key, progressKey)
		if !ok || len(c.value) == 0 {
			return // of a removed query the record tells
		}
		p, err := messages.DecodeProgress(c.value)
		if err != nil {
			b.log.Error("a query's progress cannot be read; it is left out", "query", id, "error", err)
			return
		}
		on(id, nil, p, c.revision)
	})
}

// ListStandings reads the records of all queries with their progress, in no order: nil where none was saved yet. What cannot be read is
// logged, and left out.
func (b *Bus) ListStandings(ctx context.Context) ([]*messages.Status, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	known := map[string]*messages.Status{}
	of := func(id string) *messages.Status {
		if known[id] == nil {
			known[id] = &messages.Status{}
		}
		return known[id]
	}
	err := b.WatchStandings(ctx, func(id string, q *messages.Query, p *messages.Progress, _ uint64) {
		switch {
		case q != nil:
			of(id).Query = q
		case p != nil:
			of(id).Progress = p
		default:
			of(id).Query = nil
		}
	}, func() { cancel(errStopWatch) })
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list queries: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	all := make([]*messages.Status, 0, len(known))
	for _, status := range known {
		if status.Query != nil {
			all = append(all, status)
		}
	}
	return all, nil
}

func (b *Bus) recordChanged(id string, c *change, on func(string, *messages.Query, *messages.Progress, uint64)) {
	if len(c.value) == 0 {
		on(id, nil, nil, c.revision)
		return
	}
	q, err := messages.DecodeQuery(c.value)
	if err != nil {
		b.log.Error("a query's record cannot be read; it is left alone", "query", id, "error", err)
		return
	}
	on(id, q, nil, c.revision)
}
