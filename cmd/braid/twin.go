package main

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// noteTwin tells of a query that asks the same and was interrupted with work that is kept: whoever runs it anew may not know that it can be
// gone on with. What cannot be found out is no reason to stop.
func (a *app) noteTwin(ctx context.Context, s *session, p *prepared) {
	definition, err := a.definitions().Pinned(p.spec.Service)
	if err != nil || a.isQuiet() {
		return
	}
	all, err := s.Statuses(ctx)
	if err != nil {
		return
	}
	same := &sameQuery{spec: p.spec, definition: service.Digest(definition), collection: p.collection}
	for _, status := range all {
		q := status.Query
		if q.State != messages.Interrupted && q.State != messages.Failed || status.Progress.Completed == 0 && status.Progress.KeptPages == 0 {
			continue
		}
		if is, err := same.is(q); err != nil || !is {
			continue
		}
		a.line("note", "query %s asks the same, and %s of its %s are kept; this run asks for all anew",
			q.ID, thousands(int64(status.Progress.Completed)), count(int64(q.Chunks), "chunk"))
		a.line("instead", "%s goes on with it", a.resumeHint(q, false))
		return
	}
}
