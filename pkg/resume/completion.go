package resume

import (
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/braidhq/braid/pkg/messages"
)

// Completion is the sparse set of positions that have a result, and so what is missing. A position that is split has its
// children in its place; children of one that is not count for nothing until it is, whichever is told first. The zero
// value is empty. Not for concurrent use.
type Completion struct {
	whole roaring.Bitmap // positions of the plan with rows, or said to be empty
	split roaring.Bitmap // positions of the plan that are split
	done  roaring.Bitmap // of those, the ones below which nothing is missing

	below   map[messages.Position]outcome  // of children, counted or not
	missing map[messages.Position]struct{} // children that count, have no rows and are not split
	lacking map[int]int                    // position of the plan that is split → how many of missing are below it
	splits  int                            // that count
}

// outcome is what a position's result says of it.
type outcome uint8

const (
	noResult outcome = iota
	hasRows          // or was said to have none
	isSplit
)

// Add tells that p has rows, or was said to have none. It returns whether that is news.
func (c *Completion) Add(p messages.Position) bool { return c.set(p, hasRows) }

// Split tells that p is split. It returns whether that is news. A position that can have no children is never split.
func (c *Completion) Split(p messages.Position) bool {
	if _, _, ok := p.Children(); !ok {
		return false
	}
	return c.set(p, isSplit)
}

// Remove tells that p has no result any more. What is known of its children is kept for the case that it is split again.
func (c *Completion) Remove(p messages.Position) { c.set(p, noResult) }

// set replaces what is known of p. The last word stands: a position has one result at a time.
func (c *Completion) set(p messages.Position, o outcome) (news bool) {
	if c.of(p) == o {
		return false
	}
	counts := c.Counts(p)
	if counts {
		c.leave(p)
	}
	c.put(p, o)
	if counts {
		c.enter(p)
	}
	c.settle(p.Index())
	return true
}

func (c *Completion) put(p messages.Position, o outcome) {
	if p.IsChild() {
		if c.below == nil {
			c.below = map[messages.Position]outcome{}
		}
		c.below[p] = o
		if o == noResult {
			delete(c.below, p)
		}
		return
	}
	c.whole.Remove(bit(p.Index()))
	c.split.Remove(bit(p.Index()))
	switch o {
	case hasRows:
		c.whole.Add(bit(p.Index()))
	case isSplit:
		c.split.Add(bit(p.Index()))
	case noResult:
	}
}

func (c *Completion) of(p messages.Position) outcome {
	if p.IsChild() {
		return c.below[p]
	}
	return c.ofRoot(p.Index())
}

func (c *Completion) ofRoot(index int) outcome {
	switch {
	case c.whole.Contains(bit(index)):
		return hasRows
	case c.split.Contains(bit(index)):
		return isSplit
	}
	return noResult
}

// enter counts p, and what is below it, in.
func (c *Completion) enter(p messages.Position) {
	switch c.of(p) {
	case isSplit:
		c.splits++
		first, second, _ := p.Children()
		c.enter(first)
		c.enter(second)
	case noResult:
		if !p.IsChild() {
			return
		}
		if c.missing == nil {
			c.missing, c.lacking = map[messages.Position]struct{}{}, map[int]int{}
		}
		c.missing[p] = struct{}{}
		c.lacking[p.Index()]++
	case hasRows:
	}
}

// leave counts p, and what is below it, out.
func (c *Completion) leave(p messages.Position) {
	switch c.of(p) {
	case isSplit:
		c.splits--
		first, second, _ := p.Children()
		c.leave(first)
		c.leave(second)
	case noResult:
		if !p.IsChild() {
			return
		}
		delete(c.missing, p)
		if c.lacking[p.Index()]--; c.lacking[p.Index()] == 0 {
			delete(c.lacking, p.Index())
		}
	case hasRows:
	}
}

// settle notes whether anything is missing below a position of the plan.
func (c *Completion) settle(index int) {
	if c.split.Contains(bit(index)) && c.lacking[index] == 0 {
		c.done.Add(bit(index))
	} else {
		c.done.Remove(bit(index))
	}
}

// Has tells whether p has rows, or was said to have none.
func (c *Completion) Has(p messages.Position) bool { return c.of(p) == hasRows }

// IsSplit tells whether p is split.
func (c *Completion) IsSplit(p messages.Position) bool { return c.of(p) == isSplit }

// Counts tells whether p is a position of the plan, or came from splits that are all known.
func (c *Completion) Counts(p messages.Position) bool {
	for parent := p.Parent(); parent != ""; p, parent = parent, parent.Parent() {
		if first, second, _ := parent.Children(); c.of(parent) != isSplit || p != first && p != second {
			return false
		}
	}
	return true
}

// Roots is how many of the plan's own positions are complete: they have rows, or were split and nothing is missing below them.
func (c *Completion) Roots() int {
	return int(c.whole.GetCardinality() + c.done.GetCardinality()) //nolint:gosec // at most 1<<32
}

// Splits is how many positions are split.
func (c *Completion) Splits() int { return c.splits }

// Results is how many results are known, those of splits and of children included: it grows with each step that a query
// takes, also inside of a chunk that is split.
func (c *Completion) Results() int {
	return int(c.whole.GetCardinality()+c.split.GetCardinality()) + len(c.below) //nolint:gosec // at most 1<<32
}

// Before is how many of the plan's own positions before index have a result of their own.
func (c *Completion) Before(index int) int {
	if index < 1 {
		return 0
	}
	return int(c.whole.Rank(bit(index-1)) + c.split.Rank(bit(index-1))) //nolint:gosec // positions are bounded by 1<<31
}

// Lacks is how many positions of a plan of total are missing, those that came from splits included.
func (c *Completion) Lacks(total int) int { return total - c.Before(total) + len(c.missing) }

// Missing lists up to limit of the positions that are missing in a plan of total, in order.
func (c *Completion) Missing(total, limit int) []messages.Position {
	if c.Lacks(total) == 0 {
		return nil
	}
	var missing []messages.Position
	children := c.missingChildren()
	for i := 0; i < total && len(missing) < limit; i++ {
		switch c.ofRoot(i) {
		case noResult:
			missing = append(missing, messages.PositionAt(i))
		case isSplit:
			for len(children) > 0 && children[0].Index() == i && len(missing) < limit {
				missing, children = append(missing, children[0]), children[1:]
			}
		case hasRows:
		}
	}
	return missing
}

// missingChildren are those that are missing below positions of the plan, in order.
func (c *Completion) missingChildren() []messages.Position {
	children := make([]messages.Position, 0, len(c.missing))
	for p := range c.missing {
		children = append(children, p)
	}
	slices.SortFunc(children, messages.Position.Compare)
	return children
}

// MissingBelow yields what is missing below p, in order, when p counts and is split.
func (c *Completion) MissingBelow(p messages.Position) iter.Seq[messages.Position] {
	return func(yield func(messages.Position) bool) {
		if c.IsSplit(p) && c.Counts(p) {
			c.walk(p, noResult, yield)
		}
	}
}

// Leaves yields the positions of a plan of total that have rows or were said to have none, in the order in which their rows
// stand in the table.
func (c *Completion) Leaves(total int) iter.Seq[messages.Position] {
	return func(yield func(messages.Position) bool) {
		for i := range total {
			switch c.ofRoot(i) {
			case hasRows:
				if !yield(messages.PositionAt(i)) {
					return
				}
			case isSplit:
				if !c.walk(messages.PositionAt(i), hasRows, yield) {
					return
				}
			case noResult:
			}
		}
	}
}

// walk yields the positions below p, which is split, whose result is o. It returns false when yield has done so.
func (c *Completion) walk(p messages.Position, o outcome, yield func(messages.Position) bool) bool {
	first, second, _ := p.Children()
	for _, child := range [...]messages.Position{first, second} {
		have := c.of(child)
		if have == isSplit && !c.walk(child, o, yield) || have == o && !yield(child) {
			return false
		}
	}
	return true
}

func bit(index int) uint32 { return uint32(index) } //nolint:gosec // positions are bounded by 1<<31
