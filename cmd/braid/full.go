package main

import (
	"context"
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
)

// full notes in a query's record that it stopped because nothing more can be stored, and tells when no other query takes any room:
// then the limit is too small for this one.
func (s *session) full(ctx context.Context, q *messages.Query, cause error) error {
	if s.embedded == nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err := s.embedded.InterruptFull(ctx, q.ID, cause.Error()); err != nil {
		s.app.log.Warn("the query's record does not say that the store is full", "error", err) // nor can it: there is no room for that either
	}
	all, err := s.Statuses(ctx)
	if err != nil {
		return cause
	}
	for _, other := range all {
		if other.Query.ID != q.ID && (other.Progress.Completed > 0 || other.Progress.KeptPages > 0) {
			return cause
		}
	}
	stored := 0
	if survey, err := s.embedded.Recount(ctx, q); err == nil {
		stored = survey.Completed.Roots()
	}
	return fmt.Errorf("%w\nno other query takes any room: the limit is too small for this one, of which %d of %s are stored", cause, stored, count(int64(q.Chunks), "chunk"))
}
