package coordinator

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
)

// join makes the query one of those that share its service. That is not done before its results are known: a query
// that does not know yet what it wants would keep room from others.
func (d *driver) join() {
	if d.stake == nil {
		d.stake = d.c.shares.join(d.at.query.Service, d.at.id, d.at.query.Rank, d.slots)
	}
}

// leave gives the query's share to the others, who look how many slots there are without it.
func (d *driver) leave() {
	if d.stake == nil {
		d.c.shares.look(d.pinned.definition.Name)
		return
	}
	d.stake.leave()
}

// grown tells that there is more to do than there was, though nothing came back.
func (d *driver) grown() <-chan struct{} {
	if d.stake == nil {
		return nil
	}
	return d.stake.grown
}

// resolveSlots looks how many slots the service has, when who runs there has changed: the number that the one asked for who left
// does not bind the others.
func (d *driver) resolveSlots(ctx context.Context) error {
	if !d.stake.mustLook() {
		return nil
	}
	slots, err := d.c.ensureService(ctx, d.pinned, d.at.query)
	if err != nil {
		return err
	}
	d.stake.resolved(slots)
	return nil
}

// resettled takes in what a resume has changed for a query that runs.
func (d *driver) resettled(ctx context.Context, before *messages.Query) error {
	now := d.at.query
	if now.InFlight != before.InFlight {
		slots, err := d.c.ensureService(ctx, d.pinned, now)
		if err != nil {
			return err
		}
		if d.slots = slots; d.stake != nil {
			d.stake.resolved(slots)
		}
	}
	if now.Rank != before.Rank && d.stake != nil {
		d.stake.ranked(now.Rank)
	}
	return nil
}
