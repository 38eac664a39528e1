package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

// soonWait is how long units that may come back soon are waited for without news of them.
const soonWait = 100 * time.Millisecond

// charge takes what one request costs from all pools of the service. charged is false when it was waited for units: then all
// that makes a request possible is looked at anew.
func (c *chunk) charge(ctx context.Context) (charged bool, err error) {
	if c.item.Allowance > 0 && c.requests >= c.item.Allowance {
		return false, c.interrupt(messages.AllowanceSpent, 0, "the requests that the item was allowed are sent", time.Time{})
	}
	if c.up.Pools == nil || c.w.ports.Quotas == nil {
		return true, nil
	}
	pools, err := c.up.Pools()
	if err != nil {
		return false, err
	}
	for _, cfg := range pools {
		cfg = c.heldBack(cfg)
		account := c.w.quotas.account(cfg)
		news := account.changed()
		ticket, denied, err := account.take(ctx, c.ask())
		if err == nil && denied == nil {
			c.tickets = append(c.tickets, ticket)
			continue
		}
		c.giveBack()
		if err != nil {
			return false, err
		}
		return false, c.denied(ctx, cfg, denied, news)
	}
	return true, nil
}

// ask is what is known of the request that is to be sent.
func (c *chunk) ask() ask { return ask{c.item.Service + "/" + c.item.Collection, c.up.PageRows} }

// chargeAgain takes what a further request of a call costs, such as one to which a redirect leads. The call holds a slot: units that
// come back soon are waited for no longer than a gate that opens soon.
func (c *chunk) chargeAgain(ctx context.Context) (err error) {
	defer func() { c.denial = err }()
	if c.up.Pools == nil || c.w.ports.Quotas == nil {
		return c.againOpen()
	}
	pools, err := c.up.Pools()
	if err != nil {
		return err
	}
	began := c.w.ports.Now()
	for _, cfg := range pools {
		if cfg.Counts != "requests" {
			continue // the answer that is a page costs bytes or rows, and those are reserved
		}
		cfg = c.heldBack(cfg)
		account := c.w.quotas.account(cfg)
		for {
			news := account.changed()
			ticket, denied, err := account.take(ctx, c.ask())
			if err != nil {
				return err
			}
			if denied == nil {
				c.further = append(c.further, ticket)
				break
			}
			if !denied.Soon || c.w.ports.Now().Sub(began) > c.w.cfg.ShortWait {
				return c.interrupt(messages.QuotaExhausted, 0, spent(cfg, denied), denied.At)
			}
			if err := c.await(ctx, soonWait, news); err != nil {
				return err
			}
		}
	}
	return c.againOpen()
}

// againOpen refuses a further request of a call while the gate is closed, and when nobody asks for the item any more.
func (c *chunk) againOpen() error {
	if err := c.wanted(); errors.Is(err, errDropped) {
		return err
	}
	if gate := c.w.board.closed(c.gate(), c.w.ports.Now()); gate != nil {
		return c.interrupt(messages.QuotaExhausted, gate.Status, gate.Reason, gate.Until)
	}
	return nil
}

// mayStill tells whether a request that was charged may be sent this very moment: charging it, looking for results and waiting for the store may
// have taken long, and a process that stood still does not know how long.
func (c *chunk) mayStill() bool {
	for _, t := range c.tickets {
		if !t.holds() {
			return false
		}
	}
	if errors.Is(c.wanted(), errDropped) {
		return false
	}
	return c.slot != nil && c.slot.Valid() && c.w.board.closed(c.gate(), c.w.ports.Now()) == nil
}

// denied waits for units that come back soon, and gives the item up when they do not.
func (c *chunk) denied(ctx context.Context, cfg quota.Config, denied *quota.Denial, news <-chan struct{}) error {
	wait := denied.At.Sub(c.w.ports.Now())
	switch {
	case denied.Soon:
		c.release(ctx)
		return c.await(ctx, min(max(wait, time.Millisecond), soonWait), news)
	case wait <= c.w.cfg.ShortWait:
		return c.backOff(ctx, max(wait, time.Millisecond))
	}
	return c.interrupt(messages.QuotaExhausted, 0, spent(cfg, denied), denied.At)
}

// await waits without a slot until there is news, and ends early when the query is no longer to be run.
func (c *chunk) await(ctx context.Context, wait time.Duration, news <-chan struct{}) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-news:
	case <-c.w.board.news():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return c.wanted()
}

// spent says in words why a pool gives nothing.
func spent(cfg quota.Config, denied *quota.Denial) string {
	text := fmt.Sprintf("the pool %s has %s left until %s UTC", cfg.Pool, grouped(denied.Left), denied.At.UTC().Format("2006-01-02 15:04:05"))
	if denied.Limit > 0 {
		text = fmt.Sprintf("the pool %s has %s of %s left until %s UTC", cfg.Pool, grouped(denied.Left), grouped(denied.Limit), denied.At.UTC().Format("2006-01-02 15:04:05"))
	}
	if denied.HoldBack > 0 {
		text += fmt.Sprintf(", %s held back", grouped(denied.HoldBack))
	}
	return text
}

// grouped writes a count as people read it.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// giveBack returns what was taken for a request that is not sent.
func (c *chunk) giveBack() {
	for _, t := range c.tickets {
		t.account.giveBack(t)
	}
	for _, t := range c.further {
		t.account.giveBack(t)
	}
	c.tickets, c.further = nil, nil
}

// book tells the pools what a request has cost.
func (c *chunk) book(page service.Page, err error) {
	metered := page.Metered
	served := err == nil
	var refused time.Time
	if err != nil {
		metered.Requests = 1 + c.mostFurther() // nobody has said how many went out: each that was charged may have
	}
	if answer, ok := errors.AsType[*service.ResponseError](err); ok {
		metered = answer.Metered
		served = answer.Class == service.ClassNoData
		if answer.Class == service.ClassQuota && answer.RetryAfter > 0 {
			refused = c.hintedUntil(answer.RetryAfter)
		}
	}
	further := c.bookFurther(metered.Requests)
	for _, t := range c.tickets {
		units := int64(max(1, metered.Requests)) - further[t.account]
		switch t.account.cfg.Counts {
		case "bytes":
			units = page.Bytes
		case "rows":
			units = int64(page.Count)
		}
		word := readingOf(t.account.cfg.Pool, metered.Readings)
		until := refused
		if len(c.tickets) > 1 && word != nil && word.Remaining > 0 {
			until = time.Time{} // it was another pool
		}
		t.account.settle(t, max(0, units), served, word, until)
	}
	c.tickets = nil
}

// mostFurther is how many further requests of a call were charged to one pool.
func (c *chunk) mostFurther() int {
	most, of := 0, map[*account]int{}
	for _, t := range c.further {
		of[t.account]++
		most = max(most, of[t.account])
	}
	return most
}

// bookFurther tells the pools of the further requests of a call, as many as were sent, and says how many that were of each.
func (c *chunk) bookFurther(requests int) map[*account]int64 {
	sent := map[*account]int64{}
	for _, t := range c.further {
		if c.denial == nil && sent[t.account] >= int64(requests)-1 {
			t.account.giveBack(t) // it was charged, and could not be made
			continue
		}
		sent[t.account]++
		t.account.settle(t, 1, false, nil, time.Time{})
	}
	c.further = nil
	return sent
}

func readingOf(pool string, readings []service.QuotaReading) *quota.Reading {
	for _, r := range readings {
		if r.Pool == pool {
			return &quota.Reading{Limit: r.Limit, Remaining: r.Remaining, Reset: r.Reset}
		}
	}
	return nil
}

// untilKnown is when a request that was refused without a time may be sent again, by what the pools' books know; else after
// the declared window, and the pools are told of that.
func (c *chunk) untilKnown(ctx context.Context) time.Time {
	accounts := c.accounts()
	var until time.Time
	for _, a := range accounts {
		if at := a.nextAfterRefusal(ctx); at.After(until) {
			until = at
		}
	}
	if until.After(c.w.ports.Now()) {
		return until
	}
	until = c.hintedUntil(c.up.QuotaWait)
	for _, a := range accounts {
		a.refuse(until)
	}
	return until
}

// accounts are those that a request which is sent now is charged to.
func (c *chunk) accounts() []*account {
	if c.up.Pools == nil || c.w.ports.Quotas == nil {
		return nil
	}
	pools, err := c.up.Pools()
	if err != nil {
		return nil
	}
	all := make([]*account, len(pools))
	for i, cfg := range pools {
		all[i] = c.w.quotas.account(c.heldBack(cfg))
	}
	return all
}

// heldBack is the pool as the item may spend it: of what is held back the greatest number holds.
func (c *chunk) heldBack(cfg quota.Config) quota.Config {
	cfg.HoldBack = max(cfg.HoldBack, c.w.cfg.HoldBack)
	if cfg.Counts == "requests" {
		cfg.HoldBack = max(cfg.HoldBack, c.item.HoldBack)
	}
	return cfg
}

// nextAfterRefusal is when the books say that units will be left; zero: by them some are left now.
func (a *account) nextAfterRefusal(ctx context.Context) time.Time {
	t, denied, err := a.take(ctx, ask{})
	switch {
	case err != nil:
		return time.Time{}
	case denied == nil:
		a.giveBack(t)
		return time.Time{}
	case denied.Soon:
		return time.Time{}
	}
	return denied.At
}
