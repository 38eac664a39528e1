package coordinator

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
)

// ensureService makes the service's queue, with room for what may be in hand, says to the workers how many slots it has, and gives that
// number. It is resolved anew at each start of a query, when what a running one asks for changes, and when one ends.
func (c *Coordinator) ensureService(ctx context.Context, p *pinned, q *messages.Query) (slots int, err error) {
	// What was read before another query began must not be written after that one's number.
	select {
	case c.resolving <- struct{}{}:
		defer func() { <-c.resolving }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	name := p.definition.Name
	if slots, err = c.slots(ctx, p, q); err != nil {
		return 0, err
	}
	want := &messages.Service{
		V: messages.Version, Name: name, Slots: slots, Explicit: slots != p.definition.Limits.InFlight.Slots(q.Chunks),
		LeaseTTL: c.cfg.LeaseTTL, Adapter: p.definition.Adapter,
	}
	err = c.ports.Services.UpdateService(ctx, name, func(have *messages.Service) *messages.Service {
		if have != nil && *have == *want {
			return nil
		}
		return want
	})
	if err != nil {
		return 0, err
	}
	return slots, c.ports.Items.EnsureQueue(ctx, name, 2*want.Slots, want.AckWait())
}

// slots is how many requests may be in flight at the service while q runs: what the operator of the coordinator has set, else the
// lowest that an active query asks for, else the settings', else the definition's. Without a bound there are as many as the active
// queries have chunks.
func (c *Coordinator) slots(ctx context.Context, p *pinned, q *messages.Query) (int, error) {
	if c.cfg.InFlight > 0 {
		return int(c.cfg.InFlight), nil
	}
	all, err := c.ports.Catalogue.ListQueries(ctx)
	if err != nil {
		return 0, err
	}
	asked, chunks := q.InFlight, q.Chunks
	for _, other := range all {
		if other.ID != q.ID && other.Service == p.definition.Name && other.State.Active() {
			asked, chunks = asked.Stricter(other.InFlight), chunks+other.Chunks
		}
	}
	return resolveInFlight(c.cfg.InFlight, asked, c.cfg.DefaultInFlight, p.definition.Limits.InFlight).Slots(chunks), nil
}

// resolveInFlight gives the first number that somebody has said, the strongest first.
func resolveInFlight(said ...messages.InFlight) messages.InFlight {
	for _, n := range said {
		if n != 0 {
			return n
		}
	}
	return 0
}
