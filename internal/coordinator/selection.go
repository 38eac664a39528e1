package coordinator

import (
	"context"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// Select gives the queries that are wanted with their progress, the newest first, and whether there are more behind the last of them.
func (c *Coordinator) Select(ctx context.Context, s messages.Selection) (chosen []*messages.Status, more bool, err error) {
	all, err := c.ports.Catalogue.ListStandings(ctx)
	if err != nil {
		return nil, false, err
	}
	all = slices.DeleteFunc(all, func(status *messages.Status) bool { return !s.Wants(status.Query) })
	slices.SortFunc(all, func(a, b *messages.Status) int { return a.Query.Place().Compare(b.Query.Place()) })
	if s.Limit > 0 && len(all) > s.Limit {
		all, more = all[:s.Limit], true
	}
	for _, status := range all {
		if status.Progress == nil {
			status.Progress = unbegun(status.Query)
		}
		status.Progress = withoutStale(status.Progress, status.Query)
	}
	return all, more, nil
}

// unbegun is the progress of a query before the first was saved.
func unbegun(q *messages.Query) *messages.Progress {
	return &messages.Progress{V: messages.Version, Query: q.ID, Run: q.Run, Updated: q.Created}
}
