package main

import (
	"context"
	"errors"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	pollEmbedded = 50 * time.Millisecond
	pollServer   = 500 * time.Millisecond
	stopWait     = 10 * time.Second
)

// follow shows a query's progress until it has settled or ctx ends; then an embedded query is stopped in an orderly way.
// It returns the query as it was last seen.
func (s *session) follow(ctx context.Context, id string) (*messages.Status, error) {
	bar := s.app.newProgress()
	defer bar.done()
	poll := pollServer
	if s.embedded != nil {
		poll = pollEmbedded
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last *messages.Status
	for misses := 0; ; {
		status, err := s.Status(ctx, id)
		switch {
		case err == nil:
			misses, last = 0, status
			bar.show(status)
			if settled(status.Query) {
				return status, nil
			}
		case ctx.Err() != nil:
		case is(err, messages.ErrNotFound), s.embedded != nil:
			return last, err
		default:
			// A server may restart; the query goes on without us.
			if misses++; misses > 120 {
				return last, err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errEnginesEnded) {
				return last, errEnginesEnded
			}
			return s.stop(ctx, id, last)
		}
	}
}

// settled tells whether nothing more happens to the query without somebody's doing.
func settled(q *messages.Query) bool {
	return !q.State.Active() && !q.ResumesByItself()
}

// stop ends an embedded query because this process was asked to end. A query on a server goes on.
func (s *session) stop(ctx context.Context, id string, last *messages.Status) (*messages.Status, error) {
	if s.embedded == nil {
		return last, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	s.app.line("\nstopping", "requests in flight may finish; once more Ctrl-C stops at once, and nothing complete is lost either way")
	s.stopAtOnce(id, last)
	if err := s.embedded.Interrupt(ctx, id, "this process was asked to stop"); err != nil {
		return last, err
	}
	return s.Status(ctx, id)
}
