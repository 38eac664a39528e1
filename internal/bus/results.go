package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// resultHeader is the NATS header that carries the result header, so that a headers-only consumer sees all it needs.
const resultHeader = "Braid-Result"

// ResultWriter collects the rows of one attempt at a chunk: compressed, a bounded part at a time, so that a chunk of
// any size takes the memory of a few parts. Nothing that it writes is a result before Commit. Not for concurrent use.
type ResultWriter struct {
	bus     *Bus
	query   string
	attempt string
	enc     *zstd.Encoder
	packed  bytes.Buffer
	sum     hash.Hash
	bytes   int64
	parts   int
}

// NewResult begins the result of an attempt.
func (b *Bus) NewResult(query, attempt string) *ResultWriter {
	w := &ResultWriter{bus: b, query: query, attempt: attempt, sum: sha256.New()}
	// With a buffer as its writer and these options, making an encoder cannot fail.
	w.enc, _ = zstd.NewWriter(&w.packed, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	return w
}

// Write adds rows. It publishes what is more than a message holds.
func (w *ResultWriter) Write(ctx context.Context, rows []byte) error {
	w.sum.Write(rows)
	w.bytes += int64(len(rows))
	if _, err := w.enc.Write(rows); err != nil {
		return fmt.Errorf("compress rows: %w", err)
	}
	for w.packed.Len() > w.bus.inline {
		if err := w.publishPart(ctx, w.packed.Next(w.bus.inline)); err != nil {
			return err
		}
	}
	return nil
}

func (w *ResultWriter) publishPart(ctx context.Context, body []byte) error {
	msg := nats.NewMsg(partSubject(w.query, w.attempt, w.parts))
	msg.Data = bytes.Clone(body)
	_, err := w.bus.publish(ctx, msg)
	// The attempt's id is its own: a part that exists is this one, published before an answer was lost.
	if err != nil && !errors.Is(err, messages.ErrExists) {
		return fmt.Errorf("store part %d: %w", w.parts, err)
	}
	w.parts++
	return nil
}

// Commit makes the attempt's rows the position's result, all at once, and fills h's bytes, digest and parts. When another
// attempt's result is there already, the error wraps messages.ErrExists and that one stays.
func (w *ResultWriter) Commit(ctx context.Context, h *messages.ResultHeader) error {
	if err := w.enc.Close(); err != nil {
		return fmt.Errorf("compress rows: %w", err)
	}
	if w.parts > 0 {
		for w.packed.Len() > 0 {
			if err := w.publishPart(ctx, w.packed.Next(w.bus.inline)); err != nil {
				return err
			}
		}
	}
	h.Bytes, h.SHA256, h.Parts, h.Attempt = w.bytes, hex.EncodeToString(w.sum.Sum(nil)), w.parts, w.attempt
	head, err := h.Encode()
	if err != nil {
		return err
	}
	msg := nats.NewMsg(resultSubject(h.Query, h.Position))
	msg.Header.Set(resultHeader, string(head))
	msg.Data = w.packed.Bytes()
	again, err := w.bus.publish(ctx, msg)
	if err == nil || !errors.Is(err, messages.ErrExists) {
		return err
	}
	// A refusal after a lost answer may be the echo of this very result.
	if again {
		if have, loadErr := w.bus.loadResult(ctx, h.Query, h.Position); loadErr == nil && have.header.Attempt == w.attempt {
			return nil
		}
	}
	return errors.Join(err, w.Abort(ctx))
}

// Abort removes the parts that the attempt has stored.
func (w *ResultWriter) Abort(ctx context.Context) error {
	if w.parts == 0 {
		return nil
	}
	return w.bus.purge(ctx, streamParts, partsOfAttempt(w.query, w.attempt))
}

// publishTry bounds one try of publish: what a dying server swallowed is never answered, however long ctx would wait.
const publishTry = 5 * time.Second

// publish stores a message, trying again while the outcome is unknown or the server is away, until ctx ends. again
// tells that an earlier try may have been stored.
func (b *Bus) publish(ctx context.Context, msg *nats.Msg) (again bool, err error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		fresh := nats.NewMsg(msg.Subject)
		fresh.Data = msg.Data
		maps.Copy(fresh.Header, msg.Header)
		err := b.tryPublish(ctx, fresh)
		if err = b.refused(err); err == nil || errors.Is(err, messages.ErrExists) || errors.Is(err, messages.ErrStoreFull) ||
			errors.Is(err, nats.ErrMaxPayload) || ctx.Err() != nil || code(err) != 0 && !errors.Is(err, messages.ErrUnreachable) {
			return again, err
		}
		again = true
		select {
		case <-ctx.Done():
			return again, errors.Join(context.Cause(ctx), err)
		case <-time.After(wait):
		}
	}
}

func (b *Bus) tryPublish(ctx context.Context, msg *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, publishTry)
	defer cancel()
	_, err := b.js.PublishMsg(ctx, msg)
	return err
}

// storedResult is a message in the place of a result.
type storedResult struct {
	header *messages.ResultHeader // nil when it cannot be read
	body   []byte
	seq    uint64
}

// loadResult reads what is in the place of a position's result, from any replica.
func (b *Bus) loadResult(ctx context.Context, query string, p messages.Position) (storedResult, error) {
	stream, err := b.js.Stream(ctx, streamResults)
	if err != nil {
		return storedResult{}, translate(err)
	}
	msg, err := stream.GetLastMsgForSubject(ctx, resultSubject(query, p))
	if err != nil {
		return storedResult{}, translate(err)
	}
	return openResult(query, p, msg.Header, stored{Seq: msg.Sequence, Data: msg.Data})
}

// openResult reads the header of a message. With an error that wraps messages.ErrInvalid or messages.ErrVersion it gives
// what it found all the same.
func openResult(query string, p messages.Position, header nats.Header, msg stored) (storedResult, error) {
	h, err := messages.DecodeResultHeader([]byte(header.Get(resultHeader)))
	if err == nil && (h.Query != query || h.Position != p) {
		// What another position's header names is not this one's to remove.
		h, err = nil, fmt.Errorf("%w: a result of %s/%s in the place of %s/%s", messages.ErrInvalid, h.Query, h.Position, query, p)
	}
	return storedResult{h, msg.Data, msg.Seq}, err
}

// Result reads a position's result and its rows (JSON lines), checked against length and digest. The error wraps
// messages.ErrNotFound when there is none, messages.ErrDamaged when what is stored is not what was committed, and
// messages.ErrVersion when a newer Braid has written it.
func (b *Bus) Result(ctx context.Context, query string, p messages.Position) (*messages.ResultHeader, []byte, error) {
	found, err := b.loadResult(ctx, query, p)
	var rows []byte
	if err == nil {
		rows, err = b.rows(ctx, found)
	}
	if errors.Is(err, messages.ErrInvalid) {
		err = fmt.Errorf("%w: %w", messages.ErrDamaged, err)
	}
	if err != nil {
		return found.header, nil, fmt.Errorf("result of position %s: %w", p, err)
	}
	return found.header, rows, nil
}

// rows reads a result's rows and checks them.
func (b *Bus) rows(ctx context.Context, found storedResult) ([]byte, error) {
	h, body := found.header, found.body
	if h.Parts > 0 {
		var err error
		if body, err = b.collectParts(ctx, h); err != nil {
			return nil, err
		}
	}
	rows, err := decompress(body, h.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", messages.ErrDamaged, err)
	}
	if sum := sha256.Sum256(rows); int64(len(rows)) != h.Bytes || hex.EncodeToString(sum[:]) != h.SHA256 {
		return nil, fmt.Errorf("%w: the rows do not match their digest", messages.ErrDamaged)
	}
	return rows, nil
}

func (b *Bus) collectParts(ctx context.Context, h *messages.ResultHeader) ([]byte, error) {
	stream, err := b.js.Stream(ctx, streamParts)
	if err != nil {
		return nil, translate(err)
	}
	var body bytes.Buffer
	for n := range h.Parts {
		msg, err := stream.GetLastMsgForSubject(ctx, partSubject(h.Query, h.Attempt, n))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fmt.Errorf("part %d of %d: %w", n, h.Parts, messages.ErrDamaged)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d of %d: %w", n, h.Parts, translate(err))
		}
		body.Write(msg.Data)
	}
	return body.Bytes(), nil
}

// HasResult tells whether a position has a result, be it one that only a newer Braid can read.
func (b *Bus) HasResult(ctx context.Context, query string, p messages.Position) (bool, error) {
	_, err := b.loadResult(ctx, query, p)
	switch {
	case errors.Is(err, messages.ErrNotFound):
		return false, nil
	case err != nil && !errors.Is(err, messages.ErrInvalid) && !errors.Is(err, messages.ErrVersion):
		return false, fmt.Errorf("look for the result of position %s: %w", p, err)
	}
	return true, nil
}
