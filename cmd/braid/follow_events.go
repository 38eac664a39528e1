package main

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/braid"
)

// heard is what a stream of events brought.
type heard struct {
	event *braid.Event
	err   error
}

// listen opens the server's stream of events where there is none, and not at once again when it has just ended or while the
// server does not answer.
func (f *follower) listen(ctx context.Context) {
	client, ok := f.session.Coordinator.(*braid.Client)
	if !ok || f.stream != nil || f.last == nil || !f.away.since.IsZero() || time.Since(f.begun) < f.quiet {
		return
	}
	f.begun = time.Now()
	stream := make(chan heard)
	f.stream = stream
	id, mark := f.id, f.mark
	go func() {
		defer close(stream)
		for event, err := range client.Watch(ctx, id, mark) {
			select {
			case stream <- heard{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// hear takes in what the stream brought, and tells whether following is over. Whatever ends the stream is looked at by asking: the
// answer says how the query stands, or why nothing more can be heard of it.
func (f *follower) hear(ctx context.Context, e heard, open bool) (over bool, err error) {
	if !open || e.err != nil || e.event.Kind != braid.EventStatus {
		f.stream = nil // its last word was heard
		return f.ask(ctx)
	}
	f.away.over()
	f.heard, f.mark = time.Now(), e.event.ID
	if settled(e.event.Status.Query) {
		return f.ask(ctx) // with all that is counted at the end
	}
	f.last = e.event.Status
	f.bar.show(f.last)
	return false, nil
}
