package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// ResultStore tells when the result stream was made, before which nothing that it holds was stored, and how many messages it holds.
func (b *Bus) ResultStore(ctx context.Context) (created time.Time, results uint64, err error) {
	stream, err := b.js.Stream(ctx, streamResults)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("look at %s: %w", streamResults, translate(err))
	}
	info := stream.CachedInfo()
	return info.Created, info.State.Msgs, nil
}

// stockPatience is how long a stocktaking waits for the next message.
const stockPatience = 30 * time.Second

// EachResult calls on with each message of the result stream: whose it is, and its header, nil when that cannot be read. It
// reads headers only, of all queries.
func (b *Bus) EachResult(ctx context.Context, on func(query string, h *messages.ResultHeader, bytes int64)) error {
	return b.each(ctx, streamResults, "braid.result.>", func(msg jetstream.Msg) {
		h, err := messages.DecodeResultHeader([]byte(msg.Headers().Get(resultHeader)))
		if err != nil {
			h = nil
		}
		on(queryOf(msg.Subject()), h, storedBytes(msg))
	})
}

// EachPart calls on with each message of PARTS.
func (b *Bus) EachPart(ctx context.Context, on func(messages.StoredPart)) error {
	return b.each(ctx, streamParts, "braid.>", func(msg jetstream.Msg) {
		id, all := owner(msg.Subject())
		part := messages.StoredPart{
			Query: queryOf(msg.Subject()), Owner: id, Page: strings.HasPrefix(msg.Subject(), "braid.page."), Subjects: all, Bytes: storedBytes(msg),
		}
		if meta, err := msg.Metadata(); err == nil {
			part.Stored = meta.Timestamp
		}
		on(part)
	})
}

// each reads the headers of all that a stream holds now, and gives up when the next takes too long.
func (b *Bus) each(ctx context.Context, stream, subject string, on func(jetstream.Msg)) error {
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("look through %s: %w", stream, translate(err))
	}
	if s.CachedInfo().State.Msgs == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(stockPatience, func() {
		cancel(fmt.Errorf("%w: no more of %s came for %v", messages.ErrUnreachable, stream, stockPatience))
	})
	defer stalled.Stop()
	err = b.follow(ctx, stream, subject, true, func() { cancel(errSeenEnough) }, func(msg jetstream.Msg) {
		stalled.Reset(stockPatience)
		on(msg)
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSeenEnough) {
		return cause
	}
	return err
}

// queryOf is the third token of a subject of ours.
func queryOf(subject string) string {
	if tokens := strings.SplitN(subject, ".", 4); len(tokens) > 3 {
		return tokens[2]
	}
	return ""
}

// storedBytes is the size of a message that came without its body.
func storedBytes(msg jetstream.Msg) int64 {
	size, err := strconv.ParseInt(msg.Headers().Get(nats.MsgSize), 10, 64)
	if err != nil {
		size = int64(len(msg.Data()))
	}
	size += int64(len(msg.Subject()))
	for name, values := range msg.Headers() {
		if name == nats.MsgSize {
			continue
		}
		for _, value := range values {
			size += int64(len(name) + len(value) + len(": \r\n"))
		}
	}
	return size
}

// RemoveParts removes all that belongs to an attempt or walk, as messages.StoredPart names it.
func (b *Bus) RemoveParts(ctx context.Context, subjects string) error {
	return b.purge(ctx, streamParts, subjects)
}

// RemoveLeftovers removes what is stored of a query whose record is gone.
func (b *Bus) RemoveLeftovers(ctx context.Context, query string) error {
	if err := messages.CheckName(query); err != nil {
		return fmt.Errorf("query id: %w", err)
	}
	for _, p := range []struct{ stream, subject string }{
		{streamItems, itemsOf("*", query)}, {streamResults, resultsOf(query)}, {streamParts, partsAndPagesOf(query)}, {streamEvents, eventsOf(query)},
	} {
		if err := b.purge(ctx, p.stream, p.subject); err != nil {
			return err
		}
	}
	if err := b.removeSuspects(ctx, query); err != nil {
		return err
	}
	return b.remove(ctx, bucketQueries, progressKey+query, 0)
}
