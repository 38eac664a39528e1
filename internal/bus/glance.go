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

const (
	glanceBatch = 250             // messages that are asked for at a time
	glanceWait  = 2 * time.Second // for one message; of one that is damaged nothing comes
	glanceLife  = 10 * time.Second
)

// MaxHeaders is the most positions that ResultHeaders takes.
const MaxHeaders = 1000

// ResultHeaders reads the headers of the results of some positions, at most MaxHeaders, in no order. Positions without a result, and what
// cannot be read, are left out.
func (b *Bus) ResultHeaders(ctx context.Context, query string, positions []messages.Position) ([]*messages.ResultHeader, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	if len(positions) > MaxHeaders {
		return nil, fmt.Errorf("read headers of results: %d positions at a time, at most %d", len(positions), MaxHeaders)
	}
	subjects := make([]string, len(positions))
	for i, p := range positions {
		subjects[i] = resultSubject(query, p)
	}
	var found []*messages.ResultHeader
	prefix := strings.TrimSuffix(resultsOf(query), ">")
	err := b.glance(ctx, streamResults, jetstream.ConsumerConfig{FilterSubjects: subjects, HeadersOnly: true}, func(msg jetstream.Msg) {
		h, err := messages.DecodeResultHeader([]byte(msg.Headers().Get(resultHeader)))
		if err == nil && h.Query == query && string(h.Position) == strings.TrimPrefix(msg.Subject(), prefix) {
			found = append(found, h)
		}
	})
	return found, err
}

// PagesAt calls on with the header of each stored page of a position, in the order in which they were stored. What cannot be read is
// left out.
func (b *Bus) PagesAt(ctx context.Context, query string, p messages.Position, on func(*messages.Page)) error {
	cfg := jetstream.ConsumerConfig{FilterSubject: pagesAt(query, p), HeadersOnly: true}
	return b.glance(ctx, streamParts, cfg, func(msg jetstream.Msg) {
		page, err := messages.DecodePage([]byte(msg.Headers().Get(pageHeader)))
		if err == nil && page.Query == query && page.Position == p {
			on(page)
		}
	})
}

// Events calls one of the two with each interruption and each record of requests that is stored of a query, in the order in which they
// were stored: of the newest most events, or somewhat more. What cannot be read is left out.
func (b *Bus) Events(ctx context.Context, query string, most uint64, on func(*messages.Interruption), ran func(*messages.Executions)) error {
	s, err := b.js.Stream(ctx, streamEvents)
	if err != nil {
		return fmt.Errorf("look at %s: %w", streamEvents, translate(err))
	}
	cfg := jetstream.ConsumerConfig{FilterSubject: eventsOf(query)}
	take := func(msg jetstream.Msg) {
		switch {
		case strings.HasSuffix(msg.Subject(), "."+eventInterruption):
			if m, err := messages.DecodeInterruption(msg.Data()); err == nil && m.Query == query {
				on(m)
			}
		case strings.HasSuffix(msg.Subject(), "."+eventExecution):
			if m, err := messages.DecodeExecutions(msg.Data()); err == nil && m.Query == query {
				ran(m)
			}
		}
	}
	state := s.CachedInfo().State
	cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
	if cfg.OptStartSeq, err = b.beginOf(ctx, cfg, state.FirstSeq, state.LastSeq, most); err != nil {
		return err
	}
	return b.glanceNewest(ctx, streamEvents, cfg, most, take)
}

// beginOf finds a sequence of EVENTS behind which there are most to 2 × most of the messages that cfg selects, or all of them. How far back
// they stand among others is only told by trying.
func (b *Bus) beginOf(ctx context.Context, cfg jetstream.ConsumerConfig, first, last, most uint64) (uint64, error) {
	begin, many := max(first, 1), max(first, 1) // behind begin there are too few, or all; behind many there are enough
	for few := last + 1; ; {
		cfg.OptStartSeq = begin
		behind, err := b.pending(ctx, streamEvents, cfg)
		switch {
		case err != nil:
			return 0, err
		case behind >= most:
			many = begin
		default:
			few = begin
		}
		if behind >= most && behind <= 2*most || few <= many+most {
			return many, nil
		}
		begin = many + (few-many)/2
	}
}

// pending counts what a consumer would be given.
func (b *Bus) pending(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (uint64, error) {
	consumer, done, err := b.glancer(ctx, stream, cfg)
	if err != nil {
		return 0, err
	}
	defer done()
	return consumer.CachedInfo().NumPending, nil
}

// glance calls on with each message that a stream holds now and that cfg selects. It is for few messages: unlike follow it is not taken
// up again when it is cut off.
func (b *Bus) glance(ctx context.Context, stream string, cfg jetstream.ConsumerConfig, on func(jetstream.Msg)) error {
	return b.glanceNewest(ctx, stream, cfg, 0, on)
}

// glanceNewest leaves out the oldest when there are more than most; 0 is no bound.
func (b *Bus) glanceNewest(ctx context.Context, stream string, cfg jetstream.ConsumerConfig, most uint64, on func(jetstream.Msg)) error {
	consumer, done, err := b.glancer(ctx, stream, cfg)
	if err != nil {
		return err
	}
	defer done()
	left := consumer.CachedInfo().NumPending
	for left > 0 {
		batch, err := consumer.Fetch(int(min(left, glanceBatch)), jetstream.FetchMaxWait(glanceWait)) //nolint:gosec // at most glanceBatch
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, translate(err))
		}
		came := false
		for msg := range batch.Messages() {
			came = true
			meta, err := msg.Metadata()
			if err != nil {
				return fmt.Errorf("read %s: %w", stream, err)
			}
			if left = meta.NumPending; most == 0 || left < most {
				on(msg)
			}
		}
		if err := batch.Error(); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("read %s: %w", stream, translate(err))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !came {
			return nil // what is left is counted, and cannot be read
		}
	}
	return nil
}

// glancer makes a consumer of what is there.
func (b *Bus) glancer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, func(), error) {
	cfg.AckPolicy, cfg.MaxDeliver, cfg.MemoryStorage, cfg.Replicas, cfg.InactiveThreshold = jetstream.AckNonePolicy, 1, true, 1, glanceLife
	consumer, err := b.js.CreateConsumer(ctx, stream, cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", stream, translate(err))
	}
	return consumer, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWait)
		defer cancel()
		if err := b.js.DeleteConsumer(ctx, stream, consumer.CachedInfo().Name); err != nil {
			b.log.Debug("a consumer that is not needed any more was not removed", "stream", stream, "error", err)
		}
	}, nil
}
