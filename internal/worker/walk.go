package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// walk is the way over a chunk's pages, whoever has fetched them. How far it is stands in the chunk's header. Used by one
// goroutine.
type walk struct {
	result  Result
	cursor  string         // of the page that comes next
	claimed service.Claims // by the pages so far
	columns []string       // seen, in first-seen order
	known   map[string]struct{}
	seen    map[[sha256.Size]byte]struct{} // the cursors by their digests: they may be long, and the pages many
	before  [sha256.Size]byte              // the rows of the page before
	last    *messages.Request              // of the last page; nil: the walk ended with a stored one
	doubted bool                           // whether the last page was the last
}

// walk fetches all pages that are not stored yet and commits them all as one result. When it may go on, it does so behind the
// pages of a walk that has come to no end.
func (c *chunk) walk(ctx context.Context, mayGoOn bool) error {
	w, err := c.begin(ctx, mayGoOn)
	if err != nil {
		return err
	}
	if err = c.pages(ctx, w); err == nil {
		c.release(ctx) // the last request has been answered; the commit needs no slot
		if err = c.commit(ctx, w); err == nil {
			return nil
		}
	}
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if abortErr := w.result.Abort(tidy); abortErr != nil {
		c.log.Warn("parts of an attempt without a result are left behind", "attempt", c.attempt, "error", abortErr)
	}
	return err
}

// begin begins a walk, or goes on with one.
func (c *chunk) begin(ctx context.Context, mayGoOn bool) (*walk, error) {
	if !mayGoOn {
		return c.newWalk(), nil
	}
	last, err := c.w.ports.Results.LastPage(ctx, c.item.Query, c.item.Position)
	switch {
	case errors.Is(err, messages.ErrNotFound):
		return c.newWalk(), nil
	case isUnusable(err):
		c.log.Error("stored pages cannot be read; the page walk begins again", "error", err)
		c.header.Uncounted = true
		return c.newWalk(), nil
	case err != nil:
		return nil, err
	}
	c.restarted = last.Restarted
	if last.Ended {
		return c.newWalk(), nil
	}
	if age := c.w.ports.Now().Sub(last.Fetched); c.up.CursorTTL > 0 && age >= c.up.CursorTTL {
		c.log.Info("the cursor of the last stored page is too old; the page walk begins again", "pages", last.Page+1, "age", age)
		c.header.Uncounted = true
		return c.newWalk(), nil
	}
	w := c.newWalk()
	err = w.result.Continue(ctx, last, func(page *messages.Page, next string) { c.take(w, page, next) })
	switch {
	case isUnusable(err):
		c.log.Error("stored pages are lost or damaged; the page walk begins again", "walk", last.Walk, "error", err)
		c.header.Uncounted = true
		return c.newWalk(), nil
	case err != nil:
		return nil, fmt.Errorf("go on with the walk %s: %w", last.Walk, err)
	}
	c.log.Info("going on behind stored pages", "walk", last.Walk, "pages", c.header.Pages, "rows", c.header.Rows)
	return w, nil
}

func isUnusable(err error) bool {
	return errors.Is(err, messages.ErrDamaged) || errors.Is(err, messages.ErrVersion)
}

func (c *chunk) newWalk() *walk {
	c.attempt, c.begun = c.w.ports.NewID(), false
	c.header.Rows, c.header.Pages, c.paged, c.unpaged = 0, 0, 0, 0
	return &walk{
		result: c.w.ports.Results.NewResult(c.item.Query, c.attempt),
		known:  map[string]struct{}{}, seen: map[[sha256.Size]byte]struct{}{},
	}
}

// pages walks to the last page. Each page before it is stored at once, with the cursor of the one behind it.
func (c *chunk) pages(ctx context.Context, w *walk) error {
	for !c.enough(0) {
		over, err := c.step(ctx, w)
		err = c.settle(err)
		if err != nil && endsWalk(err) && c.header.Pages > 0 && c.end(ctx, w, err) {
			continue
		}
		if err != nil || over {
			return err
		}
	}
	return nil
}

// settle says what a contradiction between pages becomes. That the walk begins again is marked where it ends and in each page of
// the new one, so that it does so once, however often it is interrupted; a failure is final, and whoever tries the chunk after
// it begins afresh.
func (c *chunk) settle(err error) error {
	contradiction, ok := errors.AsType[*unsteady](err)
	switch {
	case !ok:
		return err
	case c.restarted || c.header.Pages == 0:
		return &failed{contradiction.failure}
	}
	c.restarted = true
	return &lostWalk{status: contradiction.failure.Status, reason: contradiction.failure.Message}
}

// step takes the walk one page further. over: it was the last one.
func (c *chunk) step(ctx context.Context, w *walk) (over bool, err error) {
	page, err := c.page(ctx, service.Walk{Cursor: w.cursor, Pages: c.header.Pages, Rows: c.header.Rows, Claimed: w.claimed})
	if err != nil {
		return false, err
	}
	c.begun = true
	digest := sha256.Sum256(page.Rows)
	if err := c.mustDiffer(w, page, digest); err != nil {
		return false, err
	}
	request := &messages.Request{
		Sent: c.sent, Upstream: c.took, Status: page.Status, Tries: c.unpaged, Bytes: page.Bytes, SHA256: hex.EncodeToString(digest[:]),
	}
	enough := c.enough(int64(page.Count))
	if page.Next == "" || enough || page.Next == w.cursor && c.up.RepeatEnd {
		w.doubted, w.last = page.Doubted && !enough, request
		c.count(w, int64(page.Count), page.Columns)
		return true, c.stored(ctx, func(ctx context.Context) error { return w.result.Write(ctx, page.Rows) })
	}
	if err := c.mayFollow(w, page.Next); err != nil {
		return false, err
	}
	if err := c.wanted(); err != nil {
		return false, err // what is stored for a query that is gone by now, nobody would remove
	}
	header := &messages.Page{
		V: messages.Version, Run: c.item.Run, Position: c.item.Position, Rows: int64(page.Count), Columns: page.Columns,
		ClaimedRows: page.Claimed.Rows, ClaimedPages: page.Claimed.Pages, Restarted: c.restarted, Requests: c.unpaged,
		Worker: c.w.cfg.ID, Fetched: c.sent, Request: request,
	}
	return false, c.stored(ctx, func(ctx context.Context) error {
		have, next, err := w.result.Store(ctx, header, page.Next, page.Rows)
		switch {
		case err != nil:
			return err
		case have.Ended:
			c.restarted = c.restarted || have.Restarted
			return &lostWalk{reason: "another worker found that it leads to no end"}
		}
		c.again = c.again || have.Attempt != c.attempt // somebody else has the item too
		c.take(w, have, next)
		return nil
	})
}

// enough tells whether the walk may end with more rows.
func (c *chunk) enough(more int64) bool {
	return c.item.MaxRows > 0 && c.header.Rows+more >= c.item.MaxRows
}

// mayFollow checks the cursor that a page names.
func (c *chunk) mayFollow(w *walk, next string) error {
	pages := c.header.Pages + 1
	if _, again := w.seen[sha256.Sum256([]byte(next))]; again {
		return &unsteady{&messages.Failure{
			Class:   string(service.ClassBadPage),
			Message: fmt.Sprintf("after page %d the service names a next page that this walk has seen: its pages go in a circle", pages),
		}}
	}
	if pages >= c.up.MaxPages {
		return &failed{&messages.Failure{
			Class:   string(service.ClassBadPage),
			Message: fmt.Sprintf("more than %d pages", c.up.MaxPages),
			Hint:    "narrow the query, or raise paging.max_pages in the service definition",
		}}
	}
	return nil
}

// mustDiffer compares a page with the one before it, as far as this run of the item has seen that, where we count the pages and not
// the service: one that knows the parameters of paging by other names, or not at all, gives its first page again and again. Single
// rows may well be equal.
func (c *chunk) mustDiffer(w *walk, page service.Page, digest [sha256.Size]byte) error {
	if !c.up.CountedPages {
		return nil
	}
	same := page.Count > 1 && digest == w.before
	w.before = digest
	if !same {
		return nil
	}
	return &unsteady{&messages.Failure{
		Class:   string(service.ClassBadPage),
		Message: fmt.Sprintf("page %d has the same rows as the page before it", c.header.Pages+1),
		Hint:    "the service may not know the parameters that paging sends: check paging in the service definition",
	}}
}

// take goes on behind a stored page.
func (c *chunk) take(w *walk, page *messages.Page, next string) {
	c.count(w, page.Rows, page.Columns)
	sent := max(1, page.Requests)
	c.paged += sent
	if page.Attempt == c.attempt {
		c.unpaged = 0
	} else {
		c.header.Requests += sent
	}
	w.seen[sha256.Sum256([]byte(next))] = struct{}{}
	c.restarted = page.Restarted // which may be another attempt's page
	w.cursor, w.claimed = next, service.Claims{Rows: page.ClaimedRows, Pages: page.ClaimedPages}
}

func (c *chunk) count(w *walk, rows int64, columns []string) {
	c.header.Pages++
	c.header.Rows += rows
	for _, name := range columns {
		if _, known := w.known[name]; !known {
			w.known[name] = struct{}{}
			w.columns = append(w.columns, name)
		}
	}
}

// stored does something with the store for which the walk cannot wait for ever, and says what its failure means.
func (c *chunk) stored(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.w.cfg.Commit)
	defer cancel()
	err := do(ctx)
	switch {
	case errors.Is(err, messages.ErrStoreFull):
		return c.interrupt(messages.StoreFull, 0, err.Error(), time.Time{})
	case isUnusable(err):
		c.log.Error("a stored page is lost or damaged; the page walk begins again", "error", err)
		return &lostWalk{reason: err.Error()}
	case errors.Is(err, messages.ErrInvalid):
		return &failed{unstorable(err)}
	}
	return err
}

// end stores that the walk has come to no end, so that nobody goes on with it. goOn: another attempt has done so before, and
// this one goes on behind its page.
func (c *chunk) end(ctx context.Context, w *walk, why error) (goOn bool) {
	_, fails := errors.AsType[*failed](why)
	ctx, cancel := context.WithTimeout(ctx, c.w.cfg.Commit)
	defer cancel()
	page, next, err := w.result.Store(ctx, &messages.Page{
		V: messages.Version, Run: c.item.Run, Position: c.item.Position, Ended: true, Restarted: c.restarted && !fails,
		Worker: c.w.cfg.ID, Fetched: c.sent,
	}, "", nil)
	switch {
	case err != nil:
		c.log.Warn("the end of a page walk is not stored; it may be gone on with once more", "error", err)
		return false
	case page.Ended:
		c.paged = 0 // nobody will count them with the pages
		return false
	}
	c.take(w, page, next)
	return true
}
