package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// TrackResults calls on with the header of each result of a query, from the first one stored on, and caughtUp once all
// that were there at the start have been seen; row bytes do not travel. A message that is no result of its position is
// given to bad with the position. It returns when ctx ends, or with an error when the stream can no longer be followed.
func (b *Bus) TrackResults(ctx context.Context, query string, on func(*messages.ResultHeader), bad func(messages.Position, error), caughtUp func()) error {
	prefix := strings.TrimSuffix(resultsOf(query), ">")
	return b.follow(ctx, streamResults, resultsOf(query), true, caughtUp, func(msg jetstream.Msg) {
		at := messages.Position(strings.TrimPrefix(msg.Subject(), prefix))
		h, err := messages.DecodeResultHeader([]byte(msg.Headers().Get(resultHeader)))
		if err == nil && (h.Query != query || h.Position != at) {
			err = fmt.Errorf("%w: a result of %s/%s under %s", messages.ErrInvalid, h.Query, h.Position, msg.Subject())
		}
		if err != nil {
			bad(at, err)
			return
		}
		on(h)
	})
}

// TrackInterruptions does the same for the interruptions of a query.
func (b *Bus) TrackInterruptions(ctx context.Context, query string, on func(*messages.Interruption), bad func(error), caughtUp func()) error {
	return b.follow(ctx, streamEvents, eventSubject(query, eventInterruption), false, caughtUp, func(msg jetstream.Msg) {
		m, err := messages.DecodeInterruption(msg.Data())
		if err != nil {
			bad(err)
			return
		}
		on(m)
	})
}

// follow reads a stream from its start with an ordered consumer, which heals itself after gaps and reconnects.
func (b *Bus) follow(ctx context.Context, stream, subject string, headersOnly bool, caughtUp func(), on func(jetstream.Msg)) error {
	consumer, err := b.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: headersOnly,
	})
	if err != nil {
		return fmt.Errorf("follow %s: %w", subject, translate(err))
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("follow %s: %w", subject, translate(err))
	}
	caught := false
	catchUp := func(pending uint64) {
		if pending == 0 && !caught {
			caught = true
			caughtUp()
		}
	}
	catchUp(info.NumPending)
	incoming, err := consumer.Messages(jetstream.PullMaxMessages(1000), jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second))
	if err != nil {
		return fmt.Errorf("follow %s: %w", subject, translate(err))
	}
	defer incoming.Stop()
	for {
		msg, err := incoming.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			continue // the server is away; the consumer comes back by itself
		case err != nil:
			return fmt.Errorf("follow %s: %w", subject, translate(err))
		}
		on(msg)
		if !caught {
			meta, err := msg.Metadata()
			if err != nil {
				return fmt.Errorf("follow %s: %w", subject, err)
			}
			catchUp(meta.NumPending)
		}
	}
}
