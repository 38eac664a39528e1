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
	delivery Delivery
	again    bool      // the item, or one like it, may have been run before, or may be run by somebody else now
	looked   time.Time // for a result of another attempt; at first when the item was taken
	begun    bool      // this run of the item has fetched a page of the walk under way
	// restarted: a walk of the chunk, by whomever, has begun again because its pages contradicted one another.
	restarted bool
	log       *slog.Logger
	up        *Upstream
	attempt   string // of the walk under way
	slot      *lease.Slot
	held      uint64                // generation of the slot of the last request
	sent      time.Time             // the last request
	took      time.Duration         // until its answer was read
	releases  sync.WaitGroup        // of slots given back beside the work
	header    messages.ResultHeader // what is counted for the result
	paged     int                   // of the header's requests, those of the stored pages of the walk under way
	requests  int                   // sent for this delivery of the item
	tickets   []*ticket             // of the request under way: units of quotas
	further   []*ticket             // of further requests of the call, such as redirects
	denial    error                 // why a further request of the call was not sent
	unpaged   int                   // of the header's requests, those of this attempt since the last page that it stored
}

const maxWalks = 4 // of one run of an item, when its cursors keep going

func newChunk(in *intake, d Delivery, log *slog.Logger) *chunk {
	item := d.Item()
	// What lay here while the process was stopped comes as if for the first time, when others may have had it since.
	stale := in.worker.ports.Now().Sub(item.Dispatched) >= in.unheard()
	return &chunk{
		in: in, w: in.worker, item: item, delivery: d, again: stale || d.InDoubt() || item.Recheck || item.Run > 1,
		looked: in.worker.ports.Now(),
		log:    log,
		header: messages.ResultHeader{
			V: messages.Version, Query: item.Query, Run: item.Run, Position: item.Position,
			Worker: in.worker.cfg.ID, Started: in.worker.ports.Now(), Uncounted: d.Redelivered(),
		},
	}
}

// run brings the item to its end. nil: its result is durable. The other ends are in ending.go; any further error means
// that the store could not be asked or told, and the item is to be left for later.
func (c *chunk) run(ctx context.Context) error {
	defer c.releases.Wait()
	defer c.release(ctx)
	defer c.giveBack()
	if c.again {
		if have, err := c.look(ctx); err != nil || have {
			return err
		}
	}
	up, err := c.w.ports.Upstreams.Upstream(ctx, c.item)
	if refused, ok := errors.AsType[*service.ResponseError](err); ok {
		return c.commitFailure(ctx, failureOf(refused, refused.Class, c.item))
	}
	if err != nil {
		return err
	}
	c.up = up
	for walks := 1; ; walks++ {
		err := c.walk(ctx, c.again && walks == 1)
		var fail *failed
		var lost *lostWalk
		switch {
		case errors.As(err, &fail):
			return c.commitFailure(ctx, fail.failure)
		case errors.Is(err, errSplit):
			return c.commitSplit(ctx)
		case errors.Is(err, errDone):
			return nil
		case errors.As(err, &lost) && walks < maxWalks:
			c.log.Info("the page walk begins again", "status", lost.status, "reason", lost.reason)
		case lost != nil:
			return c.interrupt(messages.ServiceInterrupted, lost.status, lost.reason, time.Time{})
		default:
			return err
		}
	}
}

func (c *chunk) commit(ctx context.Context, w *walk) error {
	h := c.header
	h.Outcome, h.Columns, h.Doubted, h.LastPage = messages.OutcomeRows, w.columns, w.doubted, w.last
	if h.Rows == 0 {
		h.Outcome = messages.OutcomeEmpty
	}
	_, err := c.store(ctx, w.result, &h)
	return err
}

// commitFailure makes the failure the position's result: it would fail the same way every time.
func (c *chunk) commitFailure(ctx context.Context, f *messages.Failure) error {
	f.Message, f.Hint = messages.Text(f.Message), messages.Text(f.Hint)
	c.log.Warn("chunk failed", "class", f.Class, "status", f.Status, "message", f.Message)
	h := c.header
	h.Outcome, h.Rows, h.Failure, h.Requests = messages.OutcomeFailed, 0, f, h.Requests-c.paged
	_, err := c.store(ctx, c.w.ports.Results.NewResult(c.item.Query, c.w.ports.NewID()), &h)
	return err
}

// commitSplit makes it the position's result that its children follow. No row of its pages will be anybody's.
func (c *chunk) commitSplit(ctx context.Context) error {
	h := c.header
	h.Outcome, h.Rows, h.Pages = messages.OutcomeSplit, 0, 0
	stored, err := c.store(ctx, c.w.ports.Results.NewResult(c.item.Query, c.w.ports.NewID()), &h)
	if err != nil || !stored || c.header.Pages == 0 && !c.again {
		return err
	}
	if err := c.w.ports.Results.RemovePages(ctx, c.item.Query, c.item.Position); err != nil {
		c.log.Warn("pages of a split chunk are left behind", "error", err)
	}
	return nil
}

// store commits a result. stored: it is this one, and not one that was there first.
func (c *chunk) store(ctx context.Context, result Result, h *messages.ResultHeader) (stored bool, err error) {
	ctx, span := c.w.ports.Tracer.Start(ctx, "commit", slog.String("outcome", string(h.Outcome)), slog.Int64("rows", h.Rows))
	defer func() { span(err, slog.Bool("stored", stored)) }()
	h.Finished, h.Generation, h.Sent = c.w.ports.Now(), c.held, c.requests
	ctx, cancel := context.WithTimeout(ctx, c.w.cfg.Commit)
	defer cancel()
	err = result.Commit(ctx, h)
	switch {
	case errors.Is(err, messages.ErrExists):
		c.log.Info("another attempt's result was there first; this one is dropped", "attempt", h.Attempt)
		return false, nil
	case errors.Is(err, messages.ErrStoreFull):
		return false, c.interrupt(messages.StoreFull, 0, err.Error(), time.Time{})
	case errors.Is(err, messages.ErrInvalid) && h.Outcome != messages.OutcomeFailed:
		return false, &failed{unstorable(err)}
	case err != nil:
		return false, fmt.Errorf("commit: %w", err)
	}
	c.w.ports.Observer.Stored(c.item.Service, h)
	return true, nil
}

// interrupt ends the item with an interruption.
func (c *chunk) interrupt(kind messages.InterruptionKind, status int, reason string, until time.Time) error {
	return &interrupted{&messages.Interruption{
		V: messages.Version, Query: c.item.Query, Run: c.item.Run, Position: c.item.Position, Service: c.item.Service,
		Kind: kind, Status: status, Reason: messages.Text(reason), Until: until,
		Requests: c.header.Requests - c.paged, Sent: c.requests, Worker: c.w.cfg.ID, At: c.w.ports.Now(), Dispatched: c.item.Dispatched,
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
	c.w.ports.Observer.SlotLeft(c.item.Service)
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
