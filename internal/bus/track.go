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

// TrackPages calls on with the header of each stored page of a query, in the order they were stored, and caughtUp once all that
// were there at the start have been seen. What cannot be read is left out: whoever goes on with its walk will find it.
func (b *Bus) TrackPages(ctx context.Context, query string, on func(*messages.Page), caughtUp func()) error {
	return b.follow(ctx, streamParts, pageHeadsOf(query), true, caughtUp, func(msg jetstream.Msg) {
		if m, err := messages.DecodePage([]byte(msg.Headers().Get(pageHeader))); err == nil && m.Query == query {
			on(m)
		}
	})
}

// follow reads a stream from its start with an ordered consumer, which heals itself after gaps and reconnects.
func (b *Bus) follow(ctx context.Context, stream, subject string, headersOnly bool, caughtUp func(), on func(jetstream.Msg)) error {
	s, err := b.js.Stream(ctx, stream)
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // whoever follows has had enough
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", subject, translate(err))
	}
	f := &follower{bus: b, stream: stream, subject: subject, headersOnly: headersOnly, end: s.CachedInfo().State.LastSeq, on: on, caughtUp: caughtUp}
	for {
		again, err := f.read(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("follow %s: %w", subject, translate(err))
		}
		if !again || ctx.Err() != nil {
			return nil
		}
	}
}

// follower is one reading of a stream. Used by one goroutine.
type follower struct {
	bus             *Bus
	stream, subject string
	headersOnly     bool
	end             uint64 // the last sequence at the start
	last            uint64 // delivered
	left            uint64 // as the server counts
	caught          bool
	on              func(jetstream.Msg)
	caughtUp        func()
}

// quiet is how long nothing comes before it is asked whether anything is still to come.
const quiet = time.Second

// read follows until ctx ends, or until the reading is to be taken up again behind what was damaged.
func (f *follower) read(ctx context.Context) (again bool, err error) {
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: []string{f.subject}, DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: f.headersOnly}
	if f.last > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.last+1
	}
	consumer, err := f.bus.js.OrderedConsumer(ctx, f.stream, cfg)
	if err != nil {
		return false, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return false, err
	}
	f.left = info.NumPending
	f.catchUp(f.left == 0)
	incoming, err := consumer.Messages(jetstream.PullMaxMessages(1000), jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second))
	if err != nil {
		return false, err
	}
	defer incoming.Stop()
	wait := patience{bus: f.bus, stream: f.stream, subject: f.subject}
	for {
		msg, err := f.next(ctx, incoming)
		switch {
		case ctx.Err() != nil:
			return false, nil
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			continue // the server is away; the consumer comes back by itself
		case errors.Is(err, context.DeadlineExceeded):
			over, err := wait.over(ctx, f.last, f.left)
			if err != nil {
				return false, err
			}
			if over {
				f.catchUp(true)
				return true, nil
			}
			continue
		case err != nil:
			return false, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return false, err
		}
		f.last, f.left = meta.Sequence.Stream, meta.NumPending
		f.on(msg)
		f.catchUp(f.left == 0 || f.last >= f.end)
	}
}

// next waits for ever only when all that was there has been seen.
func (f *follower) next(ctx context.Context, incoming jetstream.MessagesContext) (jetstream.Msg, error) {
	if !f.caught {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, quiet)
		defer cancel()
	}
	return incoming.Next(jetstream.NextContext(ctx))
}

func (f *follower) catchUp(seenAll bool) {
	if seenAll && !f.caught {
		f.caught = true
		f.caughtUp()
	}
}
