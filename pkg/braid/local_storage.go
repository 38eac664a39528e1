package braid

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
)

// Verify checks every stored result of a query, with those that it goes on from. With reopen, what is lost is pending again
// and the query interrupted.
func (l *Local) Verify(ctx context.Context, id string, reopen bool) (*messages.Verification, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Verify(ctx, id, reopen)
}

// Collect removes what nothing needs, or in a dry run tells what it is. With OlderThan, queries that ended so long ago go too.
func (l *Local) Collect(ctx context.Context, opts messages.GarbageOptions) (*messages.Garbage, error) {
	return l.engine.Collect(ctx, opts)
}

// keep makes streams again that are gone while this process runs, and says what went with them.
func (l *Local) keep(ctx context.Context) {
	l.bus.Keep(ctx, l.assets, func([]string) {
		if err := l.engine.FindLost(ctx); err != nil && ctx.Err() == nil {
			l.log.Error("what was lost with a stream is not looked for", "error", err)
		}
	})
}
