package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/retry"
	"github.com/braidhq/braid/pkg/service"
)

const maxRefusals = 20 // short quota waits that one page may cost before the item is given up

// page fetches one page, trying again as the policy allows. Between tries no slot is held.
func (c *chunk) page(ctx context.Context, at service.Walk) (_ service.Page, err error) {
	ctx, span := c.w.ports.Tracer.Start(ctx, "page", slog.Int("page", at.Pages))
	defer func() { span(err) }()
	budget := retry.NewBudget(c.up.Retry, retry.Repeatable, c.w.ports.Now(), c.w.ports.Rand)
	doubted := false // an answer that decodes and is wrong has been asked for again
	for try, refusals := 1, 0; ; try++ {
		queued := c.header.SlotWait
		if err := c.prepare(ctx); err != nil {
			return service.Page{}, err
		}
		budget.Queued(c.header.SlotWait-queued, c.w.ports.Now())
		page, err := c.fetch(ctx, at, try)
		var answer *service.ResponseError
		switch {
		case err == nil:
			return page, nil
		case !errors.As(err, &answer):
			return service.Page{}, err
		}
		switch answer.Class {
		case service.ClassNoData:
			return service.Page{Status: answer.Status}, nil
		case service.ClassCursorGone:
			return service.Page{}, &lostWalk{status: answer.Status, reason: answer.Message}
		case service.ClassQuota:
			if refusals++; refusals > maxRefusals {
				return service.Page{}, c.interrupt(messages.QuotaExhausted, answer.Status, answer.Message, c.quotaUntil(ctx, answer))
			}
			if err := c.closeGate(ctx, answer); err != nil {
				return service.Page{}, err
			}
			if err := c.outOfQuota(); err != nil {
				return service.Page{}, err
			}
			continue
		case service.ClassTransient, service.ClassBadPage:
			next := budget.After(retry.Evidence{Kind: retry.Transient, Hint: answer.RetryAfter}, c.w.ports.Now())
			if bad := answer.Class == service.ClassBadPage; !next.Retry || bad && doubted {
				return service.Page{}, c.giveUp(answer)
			} else if bad {
				doubted = true
			}
			c.log.Info("trying again", "class", answer.Class, "status", answer.Status, "message", answer.Message, "try", try, "wait", next.Wait)
			if err := c.backOff(ctx, next.Wait); err != nil {
				return service.Page{}, err
			}
		default:
			return service.Page{}, c.refused(answer, answer.Class)
		}
	}
}

// prepare returns nil when a request may be sent now.
func (c *chunk) prepare(ctx context.Context) error {
	for {
		if err := c.ready(ctx); err != nil {
			return err
		}
		if err := c.overtaken(ctx); err != nil {
			return err
		}
		if c.mayStill() {
			return nil
		}
		c.giveBack()
	}
}

// giveUp says what a page becomes when its tries are used up.
func (c *chunk) giveUp(answer *service.ResponseError) error {
	switch {
	case answer.Class == service.ClassBadPage:
		return c.refused(answer, answer.Class)
	case answer.GivesUpAs != "" && answer.GivesUpAs != service.ClassTransient:
		return c.refused(answer, answer.GivesUpAs)
	}
	var until time.Time
	if answer.RetryAfter > 0 {
		until = c.hintedUntil(answer.RetryAfter)
	}
	return c.interrupt(messages.ServiceInterrupted, answer.Status, answer.Message, until)
}

// refused ends the item by an answer that would come again every time: it is split when it can be and that helps.
func (c *chunk) refused(answer *service.ResponseError, class service.Class) error {
	if class == service.ClassTooLarge && c.item.Divisible {
		c.log.Info("the service refuses the chunk as too large; it is split", "status", answer.Status, "message", answer.Message)
		return errSplit
	}
	if answer.Unsteady {
		return &unsteady{failureOf(answer, class, c.item)}
	}
	return &failed{failureOf(answer, class, c.item)}
}

// fetch sends one request under the slot. What comes back after the lease was lost is thrown away.
func (c *chunk) fetch(ctx context.Context, at service.Walk, try int) (service.Page, error) {
	covered, cancel := c.slot.Context(ctx)
	defer cancel()
	c.held = c.slot.Generation()
	c.header.Requests++
	c.unpaged++
	c.requests++
	covered, span := c.w.ports.Tracer.Start(covered, "attempt", slog.Int("try", try))
	sent := c.w.ports.Now()
	c.sent = sent
	at.Again, c.denial = c.chargeAgain, nil
	page, err := c.up.Adapter.FetchPage(covered, c.item.Task, at)
	metered := meteredOf(page, err)
	c.book(page, err)
	took := c.w.ports.Now().Sub(sent)
	c.took = took
	c.header.Upstream += took

	record := messages.Execution{
		Position: c.item.Position, Attempt: c.attempt, Page: c.header.Pages, Try: try, Class: string(service.ClassOK),
		Status: page.Status, Bytes: page.Bytes, Sent: sent, Upstream: took, SlotWait: c.header.SlotWait,
	}
	valid := c.slot.Valid()
	var answer *service.ResponseError
	switch {
	case errors.Is(context.Cause(ctx), ErrStopping):
		err = ErrStopping
		record.Class = "stopped"
	case !valid:
		err = errLost
		record.Class = "lost"
	case err != nil && c.denial != nil && errors.Is(err, c.denial):
		record.Class = string(service.ClassQuota) // the call ended before its last request
	case err != nil && !errors.As(err, &answer):
		answer = &service.ResponseError{Class: service.ClassTransient, Message: err.Error(), Err: err}
		err = answer
	}
	if answer != nil && answer.Class == service.ClassNoData && at.Cursor != "" {
		answer = &service.ResponseError{
			Class: service.ClassBadPage, Status: answer.Status, Err: answer, Unsteady: true,
			Message: fmt.Sprintf("no data at page %d, which the page before it named: %s", at.Pages+1, answer.Message),
		}
		err = answer
	}
	if answer != nil {
		if text := messages.Text(answer.Message); text != answer.Message {
			own := *answer // an adapter may give the same error to several calls
			own.Message = text
			answer, err = &own, &own
		}
		record.Class, record.Status = string(answer.Class), answer.Status
	}
	c.w.recorder.add(c.item, record)
	c.w.ports.Observer.Requested(c.item.Service, &record, max(1, metered.Requests))
	span(err, slog.String("class", record.Class), slog.Int64("bytes", record.Bytes))
	return page, err
}

// meteredOf is what a call says of itself.
func meteredOf(page service.Page, err error) service.Metered {
	if answer, ok := errors.AsType[*service.ResponseError](err); ok {
		return answer.Metered
	}
	return page.Metered
}

// ready returns nil when a request may be sent now: the query runs, the gate is open, and a slot is held.
func (c *chunk) ready(ctx context.Context) error {
	for {
		if err := c.wanted(); err != nil {
			return err
		}
		if gate := c.w.board.closed(c.gate(), c.w.ports.Now()); gate != nil {
			if err := c.waitForGate(ctx, gate); err != nil {
				return err
			}
			continue
		}
		if c.slot != nil && c.slot.Valid() {
			charged, err := c.charge(ctx)
			if err != nil {
				return err
			}
			if charged && c.slot != nil && c.slot.Valid() {
				return c.wanted() // a unit may have been waited for
			}
			c.giveBack()
			continue
		}
		if c.slot != nil {
			c.slot = nil
			c.w.ports.Observer.SlotLeft(c.item.Service)
			return errLost
		}
		if err := c.acquire(ctx); err != nil {
			return err
		}
	}
}

// wanted asks the board whether the item is still to be run. A walk that has begun is finished when the query only stops.
func (c *chunk) wanted() error {
	switch c.w.board.standing(c.item) {
	case messages.Running:
		return nil
	case messages.Stopping, messages.Interrupted:
		if c.begun {
			return nil
		}
		return c.interrupt(messages.HandedBack, 0, "the query is stopping", time.Time{})
	default:
		return errDropped
	}
}

func (c *chunk) acquire(ctx context.Context) error {
	before := c.w.ports.Now()
	if opened := c.w.board.opened(c.gate(), before); !opened.IsZero() {
		c.in.slots.Ramp(time.Now().Add(-before.Sub(opened))) // the gate's time is the store's, the slots' is this process's
	}
	slot, err := c.slotWhileWanted(ctx)
	waited := c.w.ports.Now().Sub(before)
	c.header.SlotWait += waited
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("acquire a slot: %w", err)
	}
	c.slot = slot
	c.w.ports.Observer.SlotTaken(c.item.Service, waited)
	return nil
}

// gate names the gate of the item's upstream.
func (c *chunk) gate() string {
	if c.up.Gate != "" {
		return c.up.Gate
	}
	return c.item.Service
}

// closeGate closes the service for all workers, and for this one at once.
func (c *chunk) closeGate(ctx context.Context, answer *service.ResponseError) error {
	gate := &messages.Gate{
		V: messages.Version, Service: c.gate(), Until: c.quotaUntil(ctx, answer),
		Status: answer.Status, Reason: messages.Text(answer.Message),
		Worker: c.w.cfg.ID, At: c.w.ports.Now(),
	}
	c.w.board.gate(gate)
	for _, a := range c.accounts() { // who looks at the pool after the gate is to see the refusal
		a.flush(ctx, false)
	}
	// The slot is kept until the gate is closed for all: whoever takes it next is to hear of the gate first.
	err := c.w.ports.Records.CloseGate(ctx, gate)
	c.release(ctx)
	if err != nil {
		return fmt.Errorf("close the gate of %s: %w", c.item.Service, err)
	}
	c.w.ports.Observer.GateClosed(c.item.Service)
	c.log.Warn("quota refused; the service's gate is closed", "until", gate.Until, "message", answer.Message)
	return nil
}

const maxGate = quota.MostRefused // a hint beyond this is not believed

// quotaUntil is when a request that was refused may be sent again: as the service said, else as the quota's books tell.
func (c *chunk) quotaUntil(ctx context.Context, answer *service.ResponseError) time.Time {
	if answer.RetryAfter > 0 {
		return c.hintedUntil(answer.RetryAfter)
	}
	return c.untilKnown(ctx)
}

func (c *chunk) hintedUntil(wait time.Duration) time.Time {
	return c.w.ports.Now().Add(min(wait, maxGate))
}

// outOfQuota gives the item up that was refused for quota, when the gate is closed for long. What the query does by now, but for
// being cancelled, makes no difference: a refusal that was met speaks, whichever item of the query was first to stop it.
func (c *chunk) outOfQuota() error {
	if err := c.wanted(); errors.Is(err, errDropped) {
		return err
	}
	now := c.w.ports.Now()
	gate := c.w.board.closed(c.gate(), now)
	if gate == nil || gate.Until.Sub(now) <= c.w.cfg.ShortWait {
		return nil
	}
	return c.interrupt(messages.QuotaExhausted, gate.Status, gate.Reason, gate.Until)
}

// waitForGate waits out a short closure with the item in hand, and gives the item up for a long one.
func (c *chunk) waitForGate(ctx context.Context, gate *messages.Gate) error {
	c.release(ctx)
	wait := gate.Until.Sub(c.w.ports.Now())
	if wait > c.w.cfg.ShortWait {
		// Whether this item met the refusal itself or was turned away by the gate: the evidence is the same.
		return c.interrupt(messages.QuotaExhausted, gate.Status, gate.Reason, gate.Until)
	}
	return c.backOff(ctx, wait)
}

// backOff waits without a slot, and ends early when the query is no longer to be run.
func (c *chunk) backOff(ctx context.Context, wait time.Duration) error {
	c.release(ctx)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		news := c.w.board.news()
		if err := c.wanted(); err != nil {
			return err
		}
		select {
		case <-timer.C:
			return nil
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
