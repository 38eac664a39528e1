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
		ticket, denied, err := account.take(ctx)
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
	c.tickets = nil
}

// book tells the pools what a request has cost.
func (c *chunk) book(page service.Page, err error) {
	metered := page.Metered
	var refused time.Time
	if answer, ok := errors.AsType[*service.ResponseError](err); ok {
		metered = answer.Metered
		if answer.Class == service.ClassQuota && answer.RetryAfter > 0 {
			refused = c.hintedUntil(answer.RetryAfter)
		}
	}
	for _, t := range c.tickets {
		units := int64(max(1, metered.Requests))
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
		t.account.settle(t, units, word, until)
	}
	c.tickets = nil
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
	var accounts []*account
	if c.up.Pools != nil && c.w.ports.Quotas != nil {
		pools, err := c.up.Pools()
		if err != nil {
			pools = nil
		}
		for _, cfg := range pools {
			accounts = append(accounts, c.w.quotas.account(c.heldBack(cfg)))
		}
	}
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
	t, denied, err := a.take(ctx)
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
