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

// follow reads a stream from its start with consumers of its own, one after the other: a consumer is on one server, and goes with it.
// The client's ordered consumer heals too, but while it does so it hears of no context, and it asks for one and the same
// consumer without end that the cluster may have put on the server that has just died.
func (b *Bus) follow(ctx context.Context, stream, subject string, headersOnly bool, caughtUp func(), on func(jetstream.Msg)) error {
	s, err := b.js.Stream(ctx, stream)
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // whoever follows has had enough
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", subject, translate(err))
	}
	f := &follower{bus: b, stream: stream, subject: subject, headersOnly: headersOnly, end: s.CachedInfo().State.LastSeq, on: on, caughtUp: caughtUp}
	f.wait = patience{bus: b, stream: stream, subject: subject}
	for {
		err := translate(f.read(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errReadAgain):
			continue
		case errors.Is(err, messages.ErrUnreachable) && f.began && !errors.Is(err, errUndelivered): // it is taken up again when the stream has a leader
			select {
			case <-ctx.Done():
			case <-time.After(reconnectWait):
			}
		default:
			return fmt.Errorf("follow %s: %w", subject, err)
		}
	}
}

// errReadAgain ends a reading that is to be taken up behind the last message: its consumer is gone, or has passed over something.
var errReadAgain = errors.New("the reading is taken up again")

// follower is one reading of a stream. Used by one goroutine.
type follower struct {
	bus             *Bus
	stream, subject string
	headersOnly     bool
	began           bool   // there was a consumer
	end             uint64 // the last sequence at the start
	last            uint64 // delivered
	left            uint64 // as the server counts
	caught          bool
	silent          int // times that nothing came for quiet, since something did
	wait            patience
	on              func(jetstream.Msg)
	caughtUp        func()
}

// quiet is how long nothing comes before it is asked whether anything is still to come.
const quiet = time.Second

const (
	pullHeartbeat = 2 * time.Second // of a consumer that lives; two that fail to come end the reading
	consumerLife  = time.Minute     // of one that nobody reads any more
	tidyWait      = 2 * time.Second
	mostSilent    = 4 // times quiet, after which another consumer may fare better
)

// open makes a consumer behind the last message.
func (f *follower) open(ctx context.Context) (jetstream.Consumer, error) {
	cfg := jetstream.ConsumerConfig{
		FilterSubject: f.subject, DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: f.headersOnly,
		AckPolicy: jetstream.AckNonePolicy, MaxDeliver: 1, MemoryStorage: true, Replicas: 1, InactiveThreshold: consumerLife,
	}
	if f.last > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.last+1
	}
	return f.bus.js.CreateConsumer(ctx, f.stream, cfg)
}

// read follows with one consumer until ctx ends. errReadAgain tells that another one is to go on.
func (f *follower) read(ctx context.Context) error {
	renewed := f.bus.renewed()
	consumer, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() != nil {
			f.tidy(ctx, consumer.CachedInfo().Name)
		}
	}()
	f.began, f.left = true, consumer.CachedInfo().NumPending
	f.catchUp(f.left == 0)
	incoming, err := consumer.Messages(jetstream.PullMaxMessages(1000), jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(pullHeartbeat))
	if err != nil {
		return err
	}
	defer incoming.Stop()
	for delivered := uint64(1); ; delivered++ {
		msg, err := f.next(ctx, incoming)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			if err := f.silence(ctx); err != nil {
				return err
			}
			if isClosed(renewed) {
				return errReadAgain
			}
			delivered--
			continue
		case errors.Is(err, jetstream.ErrNoHeartbeat), errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound),
			errors.Is(err, jetstream.ErrConsumerLeadershipChanged), errors.Is(err, jetstream.ErrServerShutdown), errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return errReadAgain
		case err != nil:
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != delivered {
			return errReadAgain // something was lost on the way
		}
		f.silent, f.last, f.left = 0, meta.Sequence.Stream, meta.NumPending
		f.on(msg)
		f.catchUp(f.left == 0 || f.last >= f.end)
	}
}

// silence decides what it means that nothing has come for a while, before all that was there has been seen.
func (f *follower) silence(ctx context.Context) error {
	over, err := f.wait.over(ctx, f.last, f.left)
	if err != nil {
		return err
	}
	if f.silent++; over || f.silent%mostSilent == 0 {
		f.catchUp(over)
		return errReadAgain
	}
	return nil
}

// tidy removes a consumer that is not needed any more. One that stays goes by itself.
func (f *follower) tidy(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWait)
	defer cancel()
	if err := f.bus.js.DeleteConsumer(ctx, f.stream, name); err != nil {
		f.bus.log.Debug("a consumer that is not needed any more was not removed", "stream", f.stream, "error", err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
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
