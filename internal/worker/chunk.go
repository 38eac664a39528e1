package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// chunk is one item being run. Used by one goroutine.
type chunk struct {
	in       *intake
	w        *Worker
	item     *messages.Item
	again    bool // the item, or one like it, may have been run before
	log      *slog.Logger
	up       *Upstream
	attempt  string // of the walk under way
	slot     *lease.Slot
	held     uint64         // generation of the slot of the last request
	releases sync.WaitGroup // of slots given back beside the work
	refusal  *service.ResponseError
	header   messages.ResultHeader // what is counted for the result
}

const maxWalks = 4 // of one item, when its cursors keep going

func newChunk(in *intake, d Delivery) *chunk {
	item := d.Item()
	return &chunk{
		in: in, w: in.worker, item: item, again: d.Redelivered() || item.Recheck,
		log: in.worker.log.With("query", item.Query, "position", item.Position),
		header: messages.ResultHeader{
			V: messages.Version, Query: item.Query, Run: item.Run, Position: item.Position,
			Worker: in.worker.cfg.ID, Started: in.worker.ports.Now(),
		},
	}
}

// run brings the item to its end. nil: its result is durable. The other ends are in ending.go; any further error means
// that the store could not be asked or told, and the item is to be left for later.
func (c *chunk) run(ctx context.Context) error {
	defer c.releases.Wait()
	defer c.release(ctx)
	if c.again {
		have, err := c.w.ports.Results.HasResult(ctx, c.item.Query, c.item.Position)
		if err != nil || have {
			return err
		}
	}
	up, err := c.w.ports.Upstreams.Upstream(ctx, c.item)
	if refused, ok := errors.AsType[*service.ResponseError](err); ok {
		return c.commitFailure(ctx, failureOf(refused))
	}
	if err != nil {
		return err
	}
	c.up = up
	for walk := 1; ; walk++ {
		err := c.walk(ctx)
		var fail *failed
		switch {
		case errors.As(err, &fail):
			return c.commitFailure(ctx, fail.failure)
		case errors.Is(err, errAgain) && walk < maxWalks:
			continue
		case errors.Is(err, errAgain):
			return c.interrupt(messages.ServiceInterrupted, c.refusal.Status, c.refusal.Message, time.Time{})
		default:
			return err
		}
	}
}

// walk fetches all pages and commits them as one result.
func (c *chunk) walk(ctx context.Context) error {
	c.attempt = c.w.ports.NewID()
	c.header.Rows, c.header.Pages = 0, 0
	result := c.w.ports.Results.NewResult(c.item.Query, c.attempt)
	columns, err := c.pages(ctx, result)
	if err == nil {
		c.release(ctx) // the last request has been answered; the commit needs no slot
		err = c.commit(ctx, result, columns)
		if err == nil {
			return nil
		}
	}
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if abortErr := result.Abort(tidy); abortErr != nil {
		c.log.Warn("parts of an attempt without a result are left behind", "attempt", c.attempt, "error", abortErr)
	}
	return err
}

// pages walks from the first page to the last and returns the names of the columns seen, in first-seen order.
func (c *chunk) pages(ctx context.Context, result Result) ([]string, error) {
	var columns []string
	known, seen := map[string]bool{}, map[string]bool{}
	for cursor := ""; ; {
		page, err := c.page(ctx, service.Walk{Cursor: cursor, Pages: c.header.Pages, Rows: c.header.Rows})
		if err != nil {
			return nil, err
		}
		if err := result.Write(ctx, page.Rows); errors.Is(err, messages.ErrInvalid) {
			return nil, &failed{unstorable(err)}
		} else if err != nil {
			return nil, err
		}
		c.header.Pages++
		c.header.Rows += int64(page.Count)
		for _, name := range page.Columns {
			if !known[name] {
				known[name] = true
				columns = append(columns, name)
			}
		}
		if page.Next == "" || page.Next == cursor && c.up.RepeatEnd {
			return columns, nil
		}
		if seen[page.Next] {
			return nil, &failed{&messages.Failure{
				Class:   string(service.ClassBadPage),
				Message: fmt.Sprintf("after page %d the service names a next page that this walk has seen: its pages go in a circle", c.header.Pages),
			}}
		}
		if c.header.Pages >= c.up.MaxPages {
			return nil, &failed{&messages.Failure{
				Class:   string(service.ClassBadPage),
				Message: fmt.Sprintf("more than %d pages", c.up.MaxPages),
				Hint:    "narrow the query, or raise paging.max_pages in the service definition",
			}}
		}
		seen[page.Next] = true
		cursor = page.Next
	}
}

func (c *chunk) commit(ctx context.Context, result Result, columns []string) error {
	h := c.header
	h.Outcome, h.Columns, h.Finished, h.Generation = messages.OutcomeRows, columns, c.w.ports.Now(), c.held
	if h.Rows == 0 {
		h.Outcome = messages.OutcomeEmpty
	}
	return c.store(ctx, result, &h)
}

// commitFailure makes the failure the position's result: it would fail the same way every time.
func (c *chunk) commitFailure(ctx context.Context, f *messages.Failure) error {
	f.Message, f.Hint = messages.Text(f.Message), messages.Text(f.Hint)
	c.log.Warn("chunk failed", "class", f.Class, "status", f.Status, "message", f.Message)
	h := c.header
	h.Outcome, h.Rows, h.Finished, h.Generation, h.Failure = messages.OutcomeFailed, 0, c.w.ports.Now(), c.held, f
	return c.store(ctx, c.w.ports.Results.NewResult(c.item.Query, c.w.ports.NewID()), &h)
}

func (c *chunk) store(ctx context.Context, result Result, h *messages.ResultHeader) error {
	ctx, cancel := context.WithTimeout(ctx, c.w.cfg.Commit)
	defer cancel()
	err := result.Commit(ctx, h)
	switch {
	case errors.Is(err, messages.ErrExists):
		c.log.Info("another attempt's result was there first; this one is dropped", "attempt", h.Attempt)
		return nil
	case errors.Is(err, messages.ErrStoreFull):
		return c.interrupt(messages.ServiceInterrupted, 0, err.Error(), time.Time{})
	case errors.Is(err, messages.ErrInvalid) && h.Outcome != messages.OutcomeFailed:
		return &failed{unstorable(err)}
	case err != nil:
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// interrupt ends the item with an interruption.
func (c *chunk) interrupt(kind messages.InterruptionKind, status int, reason string, until time.Time) error {
	return &interrupted{&messages.Interruption{
		V: messages.Version, Query: c.item.Query, Run: c.item.Run, Position: c.item.Position, Service: c.item.Service,
		Kind: kind, Status: status, Reason: messages.Text(reason), Until: until,
		Requests: c.header.Requests, Worker: c.w.cfg.ID, At: c.w.ports.Now(),
	}}
}

// lastRelease is how long after a stop a slot may take to be given back.
const lastRelease = 2 * time.Second

// release gives the slot back, beside the work: nobody needs to wait for the answer but the item's end. While the worker
// is not to stop, it is tried for as long as the lease stands: others wait for the slot.
func (c *chunk) release(ctx context.Context) {
	slot := c.slot
	if slot == nil {
		return
	}
	c.slot = nil
	c.releases.Go(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		forget := c.in.onStop(func() { time.AfterFunc(lastRelease, cancel) })
		defer forget()
		if err := slot.Release(ctx); err != nil {
			c.log.Warn("slot not released; it expires", "error", err)
		}
	})
}

func failureOf(e *service.ResponseError) *messages.Failure {
	hints := map[service.Class]string{
		service.ClassTooLarge:   "ask for less in one request: raise max_chunks, or narrow the query",
		service.ClassAuth:       "check the credentials of the service where the workers run",
		service.ClassBadRequest: "check the query's parameters",
	}
	return &messages.Failure{Class: string(e.Class), Status: e.Status, Message: e.Message, Hint: hints[e.Class]}
}
