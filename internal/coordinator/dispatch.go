package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/resume"
)

// place is where a driver stands in the plan.
type place struct {
	next      func() (planner.Chunk, bool)
	end       func()
	nextIndex int
	exhausted bool
}

// newPlace is the plan's beginning.
func newPlace(plan planner.Plan) place {
	next, end := iter.Pull(plan.All())
	return place{next: next, end: end}
}

// dispatch queues the children of split chunks that the action names, and as many of the plan's next positions that are
// neither decided nor outstanding as it says, up to publishAtOnce in all.
func (d *driver) dispatch(ctx context.Context, action resume.Action) error {
	var batch []*messages.Item
	for _, p := range action.Children[:min(len(action.Children), publishAtOnce)] {
		chunk, err := d.chunk(p)
		if cut, ok := errors.AsType[*indivisible](err); ok {
			d.log.Error("a split cannot be carried out", "position", cut.position)
			d.run.Unsplittable(cut.position, cut.failure())
			return d.publish(ctx, batch)
		}
		if err != nil {
			return err
		}
		item, err := d.item(p, chunk, action)
		if err != nil {
			return err
		}
		batch = append(batch, item)
	}
	for n := min(action.Count, publishAtOnce-len(batch)); n > 0; {
		chunk, more := d.next()
		if !more {
			d.exhausted = true
			break
		}
		p := messages.PositionAt(d.nextIndex)
		d.nextIndex++
		if d.run.Decided(p) || d.run.Outstanding(p) {
			continue
		}
		n--
		item, err := d.item(p, chunk, action)
		if err != nil {
			return err
		}
		batch = append(batch, item)
	}
	return d.publish(ctx, batch)
}

func (d *driver) publish(ctx context.Context, batch []*messages.Item) error {
	for _, item := range batch {
		d.out(item)
	}
	return d.queue(ctx, batch)
}

// item makes the item of a position, and keeps it until it comes back.
func (d *driver) item(p messages.Position, chunk planner.Chunk, action resume.Action) (*messages.Item, error) {
	task, err := d.pinned.task(chunk)
	if err != nil {
		return nil, fmt.Errorf("position %s: %w", p, err)
	}
	_, _, children := p.Children()
	q := d.at.query
	item := &messages.Item{
		V: messages.Version, Query: q.ID, Run: q.Run, Position: p, Service: q.Service, Definition: q.Definition,
		Collection: q.Collection, Task: task, Dispatched: d.c.ports.Now(), Recheck: d.recheck,
		Divisible: children && d.pinned.divisible(chunk), Asks: messages.Text(d.pinned.describe(chunk)), MaxRows: action.Rows,
		HoldBack: d.pinned.spec.Run.HoldBack, Allowance: action.Allowance,
	}
	d.items[p], d.chunks[p] = item, chunk
	return item, nil
}

// chunk gives the values of a position. Those of a child are made from its parent's: a driver that was there when the
// parent was dispatched has these, one that took over makes them from the plan.
func (d *driver) chunk(p messages.Position) (planner.Chunk, error) {
	if chunk, have := d.chunks[p]; have {
		return chunk, nil
	}
	if !p.IsChild() {
		chunk, ok := planner.ChunkAt(d.pinned.plan, p.Index())
		if !ok {
			return chunk, fmt.Errorf("the plan has no position %s", p)
		}
		return chunk, nil
	}
	parent := p.Parent()
	whole, err := d.chunk(parent)
	if err != nil {
		return planner.Chunk{}, err
	}
	halves, ok := d.pinned.split(whole)
	if !ok {
		return planner.Chunk{}, &indivisible{parent, d.pinned.describe(whole)}
	}
	first, second, _ := parent.Children()
	for i, child := range [...]messages.Position{first, second} {
		if !d.run.Decided(child) {
			d.chunks[child] = halves[i]
		}
	}
	delete(d.chunks, parent)
	if p == first {
		return halves[0], nil
	}
	return halves[1], nil
}

// indivisible is a position whose result says that it was split, and whose chunk this build cannot divide.
type indivisible struct {
	position messages.Position
	asks     string
}

// Error names position and chunk.
func (e *indivisible) Error() string {
	return fmt.Sprintf("the service refused the chunk at position %s as too large, and it cannot be divided: %s", e.position, e.asks)
}

func (e *indivisible) failure() *messages.Failure {
	return &messages.Failure{
		Class: messages.ClassSplit, Message: messages.Text(e.Error()),
		Hint: "finish the query with the version that began it, or ask for less in one request: raise max_chunks, or narrow the query",
	}
}

// discard removes results that are asked for again, because one before them was lost.
func (d *driver) discard(ctx context.Context, results []resume.Discarded) error {
	d.log.Warn("results behind one that was lost are asked for again: they may end too early now", "results", len(results))
	for _, r := range results {
		if err := d.c.ports.Results.RemoveAttempt(ctx, d.at.id, r.Position, r.Attempt); err != nil {
			return err
		}
		d.lost(r.Position)
	}
	return nil
}

// bind tells the workers behind which failure nothing more is to be begun: they hand back what they have of it, and what they take.
func (d *driver) bind(ctx context.Context) error {
	q := d.at.query
	if q.State != messages.Running || q.Bound == d.run.Bound() {
		return nil
	}
	return d.save(ctx, messages.Running, q.Stop)
}
