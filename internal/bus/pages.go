package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/pkg/messages"
)

// pageHeader is the NATS header that carries the header of a stored page.
const pageHeader = "Braid-Page"

// Store keeps a page that is followed by another, whose cursor is next, in one write: behind it anybody can go on. It fills
// what page says about how it is stored and where in the walk it stands, which is behind all that was stored and continued.
//
// It gives what is stored in the end. That is another attempt's page when one that goes on with the same walk was first, and
// then the walk goes on behind that one. An error that wraps messages.ErrDamaged says that it cannot be read.
//
// A page that is Ended has no rows and no next one: nobody goes on with the walk, unless another attempt has done so before.
func (w *ResultWriter) Store(ctx context.Context, page *messages.Page, next string, rows []byte) (*messages.Page, string, error) {
	page.Query, page.Walk, page.Page, page.Attempt = w.query, w.walk, w.pages, w.attempt
	page.NextBytes, page.Bytes, page.SHA256 = int64(len(next)), int64(len(rows)), pageDigest(next, rows)
	rest, err := w.pack(ctx, page, next, rows)
	if err != nil {
		return nil, "", fmt.Errorf("store page %d: %w", page.Page, err)
	}
	page.Parts = w.packer.pieces
	head, err := page.Encode()
	if err != nil {
		return nil, "", err
	}
	msg := nats.NewMsg(pageSubject(w.query, page.Position, w.walk, page.Page))
	msg.Header.Set(pageHeader, string(head))
	msg.Data = rest
	_, err = w.bus.publish(ctx, msg)
	w.packer.reset(w.partSubject)
	switch {
	case errors.Is(err, messages.ErrExists):
		return w.adopt(ctx, page)
	case err != nil:
		return nil, "", fmt.Errorf("store page %d: %w", page.Page, err)
	}
	w.stored(page, rows)
	return page, next, nil
}

func (w *ResultWriter) pack(ctx context.Context, page *messages.Page, next string, rows []byte) (rest []byte, err error) {
	w.packer.reset(func(n int) string {
		return pagePieceSubject(w.query, page.Position, w.walk, page.Page, w.attempt, n)
	})
	for _, data := range [][]byte{[]byte(next), rows} {
		if err := w.packer.write(ctx, data); err != nil {
			return nil, err
		}
	}
	return w.packer.close(ctx)
}

func (w *ResultWriter) stored(page *messages.Page, rows []byte) {
	if page.Ended {
		return
	}
	w.add(rows)
	w.pages++
}

// adopt takes the page that is stored in the place of mine, which may be mine after a lost answer.
func (w *ResultWriter) adopt(ctx context.Context, mine *messages.Page) (*messages.Page, string, error) {
	reader := w.bus.readParts()
	have, err := reader.page(ctx, w.query, mine.Position, w.walk, mine.Page, math.MaxInt64)
	if err != nil {
		return nil, "", fmt.Errorf("page %d, which another attempt has stored: %w", mine.Page, err)
	}
	if mine.Parts > 0 && have.header.Attempt != w.attempt {
		err := w.bus.purge(ctx, streamParts, pagePiecesOf(w.query, mine.Position, w.walk, mine.Page, w.attempt))
		if err != nil {
			w.bus.log.Warn("parts of a page that another attempt has stored are left behind", "error", err)
		}
	}
	w.stored(have.header, have.rows)
	return have.header, have.next, nil
}

// Continue goes on with the walk of last, its last stored page: it reads the walk's pages, checks them, and gives each with
// the cursor of the one behind it to on, the first one first. What is written and stored then comes behind them. When a page
// is lost or damaged the error wraps messages.ErrDamaged, and the writer is of no use any more.
func (w *ResultWriter) Continue(ctx context.Context, last *messages.Page, on func(page *messages.Page, next string)) error {
	reader := w.bus.readParts()
	w.walk = last.Walk
	for n := range last.Page + 1 {
		page, err := reader.page(ctx, w.query, last.Position, w.walk, n, math.MaxInt64)
		if err == nil && page.header.Ended {
			err = fmt.Errorf("%w: the walk has ended before", messages.ErrDamaged)
		}
		if err != nil {
			return fmt.Errorf("page %d of %d: %w", n, last.Page+1, err)
		}
		w.stored(page.header, page.rows)
		on(page.header, page.next)
	}
	return nil
}

// LastPage reads the header of the page that was stored last of all walks of a position. The error wraps
// messages.ErrNotFound when there is none, messages.ErrDamaged when it is none, and messages.ErrVersion when a newer Braid
// has written it.
func (b *Bus) LastPage(ctx context.Context, query string, p messages.Position) (*messages.Page, error) {
	// The leader knows what was stored just now.
	found, err := b.leadersPart(ctx, pagesAt(query, p))
	if err != nil {
		return nil, fmt.Errorf("look for pages of position %s: %w", p, err)
	}
	if found == nil {
		return nil, fmt.Errorf("pages of position %s: %w", p, messages.ErrNotFound)
	}
	page, err := messages.DecodePage([]byte(found.header.Get(pageHeader)))
	switch {
	case errors.Is(err, messages.ErrInvalid):
		return nil, fmt.Errorf("the last page of position %s: %w: %w", p, messages.ErrDamaged, err)
	case err != nil:
		return nil, fmt.Errorf("the last page of position %s: %w", p, err)
	case found.subject != pageSubject(query, p, page.Walk, page.Page):
		return nil, fmt.Errorf("the last page of position %s: %w: it stands under the subject %s", p, messages.ErrDamaged, found.subject)
	}
	return page, nil
}

// storedPage is a page as it is stored.
type storedPage struct {
	header *messages.Page
	next   string
	rows   []byte
}

// page reads a stored page and checks it. A page of more than most bytes of rows is damaged.
func (r *partReader) page(ctx context.Context, query string, p messages.Position, walk string, n int, most int64) (storedPage, error) {
	found, err := r.part(ctx, pageSubject(query, p, walk, n))
	if err != nil {
		return storedPage{}, err
	}
	h, err := messages.DecodePage([]byte(found.header.Get(pageHeader)))
	switch {
	case errors.Is(err, messages.ErrInvalid):
		return storedPage{}, fmt.Errorf("%w: %w", messages.ErrDamaged, err)
	case err != nil:
		return storedPage{}, err
	case h.Query != query || h.Position != p || h.Walk != walk || h.Page != n:
		return storedPage{}, fmt.Errorf("%w: a page of %s/%s in the place of one of %s/%s", messages.ErrDamaged, h.Query, h.Position, query, p)
	case h.Bytes > most:
		return storedPage{}, fmt.Errorf("%w: %d bytes of rows, at most %d", messages.ErrDamaged, h.Bytes, most)
	}
	body, err := r.collect(ctx, h.Parts, func(i int) string { return pagePieceSubject(query, p, walk, n, h.Attempt, i) }, found.data)
	if err != nil {
		return storedPage{}, err
	}
	data, err := decompress(body, h.NextBytes+h.Bytes)
	if err != nil {
		return storedPage{}, fmt.Errorf("%w: %w", messages.ErrDamaged, err)
	}
	if int64(len(data)) != h.NextBytes+h.Bytes {
		return storedPage{}, fmt.Errorf("%w: %d bytes, want %d", messages.ErrDamaged, len(data), h.NextBytes+h.Bytes)
	}
	page := storedPage{header: h, next: string(data[:h.NextBytes]), rows: data[h.NextBytes:]}
	if pageDigest(page.next, page.rows) != h.SHA256 {
		return storedPage{}, fmt.Errorf("%w: the page does not match its digest", messages.ErrDamaged)
	}
	return page, nil
}

// pageDigest covers where the cursor ends, too.
func pageDigest(next string, rows []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n%s", len(next), next)
	sum.Write(rows)
	return hex.EncodeToString(sum.Sum(nil))
}
