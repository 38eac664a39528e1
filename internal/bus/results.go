package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/pkg/messages"
)

// resultHeader is the NATS header that carries the result header, so that a headers-only consumer sees all it needs.
const resultHeader = "Braid-Result"

// ResultWriter collects the rows of one attempt at a chunk. Pages that are followed by another are stored as they come
// (Store), so that whoever runs the chunk after an interruption goes on behind them (Continue); the rows of the last page
// (Write) are compressed, a bounded part at a time. Nothing is a result before Commit. Not for concurrent use.
type ResultWriter struct {
	bus     *Bus
	query   string
	attempt string
	packer  *packer
	sum     hash.Hash // of all rows
	bytes   int64
	walk    string // of the stored pages
	pages   int    // stored
	unsure  bool   // the result may be stored
}

// NewResult begins the result of an attempt.
func (b *Bus) NewResult(query, attempt string) *ResultWriter {
	w := &ResultWriter{bus: b, query: query, attempt: attempt, walk: attempt, sum: sha256.New()}
	w.packer = newPacker(b, w.partSubject)
	return w
}

func (w *ResultWriter) partSubject(n int) string { return partSubject(w.query, w.attempt, n) }

// Write adds rows of the last page, which no stored page can follow. It publishes what is more than a message holds.
func (w *ResultWriter) Write(ctx context.Context, rows []byte) error {
	w.add(rows)
	return w.packer.write(ctx, rows)
}

func (w *ResultWriter) add(rows []byte) {
	w.sum.Write(rows)
	w.bytes += int64(len(rows))
}

// Commit makes the rows the position's result, all at once, and fills what h says about how they are stored. When another
// attempt's result is there already, the error wraps messages.ErrExists and that one stays.
func (w *ResultWriter) Commit(ctx context.Context, h *messages.ResultHeader) error {
	rest, err := w.packer.close(ctx)
	if err != nil {
		return err
	}
	if w.packer.pieces > 0 {
		if err := w.packer.publishAbove(ctx, 0); err != nil {
			return err
		}
		rest = nil
	}
	h.Bytes, h.SHA256, h.Parts, h.Attempt = w.bytes, hex.EncodeToString(w.sum.Sum(nil)), w.packer.pieces, w.attempt
	h.Walk, h.StoredPages = "", w.pages
	if w.pages > 0 {
		h.Walk = w.walk
	}
	head, err := h.Encode()
	if err != nil {
		return err
	}
	msg := nats.NewMsg(resultSubject(h.Query, h.Position))
	msg.Header.Set(resultHeader, string(head))
	msg.Data = rest
	again, err := w.bus.publish(ctx, msg)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, messages.ErrExists):
		// The parts stay when the result may be stored all the same: without them it would be damaged.
		w.unsure = again || !isRefusal(err)
		return err
	case again:
		// A refusal after a lost answer may be the echo of this very result.
		have, loadErr := w.bus.loadResult(ctx, h.Query, h.Position)
		if loadErr != nil {
			w.unsure = true
			return fmt.Errorf("see whose result is stored, after an answer that was lost: %w", loadErr)
		}
		if have.header.Attempt == w.attempt {
			return nil
		}
	}
	return errors.Join(err, w.Abort(ctx))
}

// Abort removes the parts that the attempt has stored, unless they may be a result's. Its stored pages stay: the next
// attempt goes on behind them.
func (w *ResultWriter) Abort(ctx context.Context) error {
	if w.packer.pieces == 0 || w.unsure {
		return nil
	}
	return w.bus.purge(ctx, streamParts, partsOfAttempt(w.query, w.attempt))
}

// isRefusal tells the errors of publish with which nothing was stored.
func isRefusal(err error) bool {
	return errors.Is(err, messages.ErrExists) || errors.Is(err, messages.ErrStoreFull) || errors.Is(err, nats.ErrMaxPayload) ||
		code(err) != 0 && !errors.Is(err, messages.ErrUnreachable)
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
		if err = b.refused(err); err == nil || isRefusal(err) || ctx.Err() != nil {
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

// rows reads a result's rows, page by page, and checks them.
func (b *Bus) rows(ctx context.Context, found storedResult) ([]byte, error) {
	h := found.header
	reader := b.readParts()
	rows, err := reader.rowsOfPages(ctx, h)
	if err != nil {
		return nil, err
	}
	body, err := reader.collect(ctx, h.Parts, func(n int) string { return partSubject(h.Query, h.Attempt, n) }, found.body)
	if err != nil {
		return nil, err
	}
	last, err := decompress(body, h.Bytes-int64(len(rows)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", messages.ErrDamaged, err)
	}
	if h.StoredPages == 0 {
		rows = last
	} else {
		rows = append(rows, last...)
	}
	if sum := sha256.Sum256(rows); int64(len(rows)) != h.Bytes || hex.EncodeToString(sum[:]) != h.SHA256 {
		return nil, fmt.Errorf("%w: the rows do not match their digest", messages.ErrDamaged)
	}
	return rows, nil
}

// rowsOfPages reads the rows of the pages that were stored before the result, never more than the result has.
func (r *partReader) rowsOfPages(ctx context.Context, h *messages.ResultHeader) ([]byte, error) {
	var rows []byte
	for n := range h.StoredPages {
		page, err := r.page(ctx, h.Query, h.Position, h.Walk, n, h.Bytes-int64(len(rows)))
		if err != nil {
			return nil, fmt.Errorf("page %d of %d: %w", n, h.Pages, err)
		}
		rows = append(rows, page.rows...)
	}
	return rows, nil
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
