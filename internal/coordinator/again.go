package coordinator

import (
	"context"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	againFirst = 5 * time.Millisecond
	againMost  = time.Second
)

// again knows which items are over, and what the queue has refused because one of them was still in its place: a worker tells first
// how an item ended, so that nothing is lost when it dies, and has it removed then. Whoever hears of it and publishes the position again
// may come between. Such an item is tried again until the other one is gone, or until there is news of the position.
type again struct {
	over  map[messages.Position]time.Time // items of the position that were dispatched until then have come back
	items map[messages.Position]*messages.Item
	wait  time.Duration
	due   <-chan time.Time // nil: nothing is to be tried again
}

func newAgain() again {
	return again{over: map[messages.Position]time.Time{}, items: map[messages.Position]*messages.Item{}}
}

// isOver tells whether an item has come back, as far as news of it has come.
func (a *again) isOver(item *messages.Item) bool {
	over, came := a.over[item.Position]
	return came && !item.Dispatched.After(over)
}

// end notes that the items of a position that were dispatched until then are over.
func (a *again) end(p messages.Position, until time.Time) {
	if until.After(a.over[p]) {
		a.over[p] = until
	}
}

// out tells the run that an item is on its way.
func (d *driver) out(item *messages.Item) {
	d.run.DispatchedAt(item.Position, item.Dispatched)
	d.run.Allow(item.Position, item.Allowance)
}

// returned takes in that an item came back without a result.
func (d *driver) returned(m *messages.Interruption) {
	if m.Run != d.at.query.Run {
		return
	}
	until := m.Dispatched
	if item := d.items[m.Position]; until.IsZero() && item != nil {
		until = item.Dispatched
	}
	d.again.end(m.Position, until)
}

// decided takes in that a position has a result. One that is not kept may have been seen by a worker, which then did nothing.
func (d *driver) decided(p messages.Position, kept bool) {
	if kept {
		delete(d.again.over, p)
		return
	}
	d.again.end(p, d.c.ports.Now())
}

// lost takes in that a position's result is gone. A worker may have seen it, and done nothing.
func (d *driver) lost(p messages.Position) {
	d.run.Lost(p)
	d.c.ports.Observer.Lost(d.pinned.definition.Name)
	d.forget(p)
	d.again.end(p, d.c.ports.Now())
}

// queue publishes items, and sees to those that the queue has refused.
func (d *driver) queue(ctx context.Context, batch []*messages.Item) error {
	if err := d.offer(ctx, batch); err != nil {
		return err
	}
	if d.again.due == nil {
		d.again.wait = againFirst
		d.again.arm()
	}
	return nil
}

func (d *driver) offer(ctx context.Context, batch []*messages.Item) error {
	if len(batch) == 0 {
		return nil
	}
	tracing, span := d.traceDispatch(ctx, batch)
	refused, err := d.c.ports.Items.PublishItems(tracing, batch)
	span(err)
	if err == nil {
		d.c.ports.Observer.Dispatched(batch[0].Service, len(batch)-len(refused))
	}
	for _, r := range refused {
		d.refused(r)
	}
	return err
}

// refused takes in that another item is queued in the place of one. That of a coordinator before this one is as good, with what it
// allows; one that is over, or of an earlier run, is in the way.
func (d *driver) refused(r messages.Refused) {
	p := r.Item.Position
	if have := r.Queued; have == nil || have.Run < r.Item.Run || d.again.isOver(have) {
		r.Item.Recheck = true // what is in the way may bring a result yet
		d.again.items[p] = r.Item
		return
	}
	r.Item.Dispatched, r.Item.Allowance = r.Queued.Dispatched, r.Queued.Allowance
	d.out(r.Item)
}

// publishAgain tries what was refused, as far as it is still wanted, and waits the longer the more often it was in vain.
func (d *driver) publishAgain(ctx context.Context) error {
	var batch []*messages.Item
	before := len(d.again.items)
	for p, item := range d.again.items {
		if d.items[p] != item {
			delete(d.again.items, p) // there was news of it
		} else if len(batch) < publishAtOnce {
			batch = append(batch, item)
			delete(d.again.items, p)
		}
	}
	if err := d.offer(ctx, batch); err != nil {
		return err
	}
	if len(d.again.items) == before {
		d.again.wait = min(2*d.again.wait, againMost)
	}
	d.again.arm()
	return nil
}

// arm sets when what was refused is tried again, if anything was.
func (a *again) arm() {
	a.due = nil
	if len(a.items) > 0 {
		a.due = time.After(a.wait)
	}
}
