package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// RemoveDamaged makes a position pending again when what is stored for it is damaged, and removes just that: a good result
// that somebody has stored meanwhile stays, and so does one of a newer Braid. It is no error when there is nothing to remove.
func (b *Bus) RemoveDamaged(ctx context.Context, query string, p messages.Position) error {
	found, err := b.leadersResult(ctx, query, p)
	if err == nil && found != nil {
		_, err = b.rows(ctx, *found)
	}
	switch {
	case found == nil && err == nil, errors.Is(err, messages.ErrVersion):
		return nil
	case errors.Is(err, messages.ErrInvalid), errors.Is(err, messages.ErrDamaged):
		return b.removeResult(ctx, query, *found)
	case err != nil:
		return fmt.Errorf("remove the damaged result of position %s: %w", p, err)
	}
	return nil
}

// RemoveAttempt makes a position pending again when its result is the one that this attempt has stored; any other stays.
func (b *Bus) RemoveAttempt(ctx context.Context, query string, p messages.Position, attempt string) error {
	found, err := b.leadersResult(ctx, query, p)
	switch {
	case found == nil && err == nil, errors.Is(err, messages.ErrInvalid), errors.Is(err, messages.ErrVersion):
		return nil
	case err != nil:
		return fmt.Errorf("remove the result of position %s: %w", p, err)
	case found.header.Attempt != attempt:
		return nil
	}
	return b.removeResult(ctx, query, *found)
}

// leadersResult reads what is in the place of a result, nil when nothing is. It asks the leader of the stream, whose word on
// the message's sequence cannot be confused with a header that somebody has stored.
func (b *Bus) leadersResult(ctx context.Context, query string, p messages.Position) (*storedResult, error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": resultSubject(query, p)})
	if err != nil {
		return nil, err
	}
	msg, err := b.read(ctx, streamResults, request)
	if err != nil || msg == nil {
		return nil, err
	}
	header := nats.Header{}
	if len(msg.Hdrs) > 0 {
		if header, err = nats.DecodeHeadersMsg(msg.Hdrs); err != nil {
			return &storedResult{seq: msg.Seq}, fmt.Errorf("%w: %w", messages.ErrInvalid, err)
		}
	}
	found, err := openResult(query, p, header, *msg)
	return &found, err
}

// removeResult removes the very message that was read. The parts go after it: without it they are nobody's. Stored pages
// stay: whoever runs the chunk again goes on behind them, or finds that one is damaged and begins anew.
func (b *Bus) removeResult(ctx context.Context, query string, found storedResult) error {
	stream, err := b.js.Stream(ctx, streamResults)
	if err == nil {
		err = stream.DeleteMsg(ctx, found.seq)
	}
	if err != nil && code(err) != codeNoSequence {
		return fmt.Errorf("remove message %d of %s: %w", found.seq, streamResults, translate(err))
	}
	if found.header == nil || found.header.Parts == 0 {
		return nil
	}
	return b.purge(ctx, streamParts, partsOfAttempt(query, found.header.Attempt))
}

// RemovePages removes the stored pages of all walks of a position whose rows no result will have.
func (b *Bus) RemovePages(ctx context.Context, query string, p messages.Position) error {
	return b.purge(ctx, streamParts, allAt(query, p))
}

const (
	orphansAtOnce  = 1000 // attempts and walks that are remembered before they are removed
	orphanPatience = 30 * time.Second
)

// RemoveOrphans removes what a query's attempts and walks have stored when keep does not want their ids: those that never
// became a result. It reads the subjects of the query's parts and pages one after another, so that neither their number nor
// that of other queries matters, and gives up when the next one takes too long.
func (b *Bus) RemoveOrphans(ctx context.Context, query string, keep func(id string) bool) error {
	stream, err := b.js.Stream(ctx, streamParts)
	if err != nil {
		return fmt.Errorf("look for parts of %s: %w", query, translate(err))
	}
	if stream.CachedInfo().State.NumSubjects == 0 {
		return nil
	}
	for {
		orphans, err := b.orphans(ctx, query, keep)
		if err != nil {
			return err
		}
		for all := range orphans {
			if err := b.purge(ctx, streamParts, all); err != nil {
				return err
			}
		}
		if len(orphans) < orphansAtOnce {
			return nil
		}
	}
}

var errSeenEnough = errors.New("enough parts and pages have been seen")

// orphans gives the subjects of the first attempts and walks of a query that keep does not want, orphansAtOnce at most.
func (b *Bus) orphans(ctx context.Context, query string, keep func(id string) bool) (map[string]struct{}, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(orphanPatience, func() {
		cancel(fmt.Errorf("%w: no more parts of %s came for %v", messages.ErrUnreachable, query, orphanPatience))
	})
	defer stalled.Stop()
	orphans := map[string]struct{}{}
	err := b.follow(ctx, streamParts, partsAndPagesOf(query), true, func() { cancel(errSeenEnough) }, func(msg jetstream.Msg) {
		stalled.Reset(orphanPatience)
		id, all := owner(msg.Subject())
		if len(orphans) == orphansAtOnce || keep(id) {
			return
		}
		if orphans[all] = struct{}{}; len(orphans) == orphansAtOnce {
			cancel(errSeenEnough)
		}
	})
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errSeenEnough) {
		return nil, cause
	}
	return orphans, err
}

// owner tells of a subject of PARTS the id of the attempt or walk that it belongs to, and the subjects of all that does.
func owner(subject string) (id, all string) {
	tokens := strings.Split(subject, ".")
	at := 3
	if tokens[1] == "page" {
		at = 4
	}
	if len(tokens) <= at {
		return "", subject
	}
	return tokens[at], strings.Join(tokens[:at+1], ".") + ".>"
}
