package resume

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/braidhq/braid/pkg/messages"
)

// Completion is the sparse set of positions that have a result. The zero value is empty. Not for concurrent use.
type Completion struct {
	roots    roaring.Bitmap
	children map[messages.Position]struct{} // of split chunks
}

// Add puts p into the set and tells whether it was not there.
func (c *Completion) Add(p messages.Position) bool {
	if !p.IsChild() {
		return c.roots.CheckedAdd(uint32(p.Index())) //nolint:gosec // positions are bounded by 1<<31
	}
	if _, have := c.children[p]; have {
		return false
	}
	if c.children == nil {
		c.children = map[messages.Position]struct{}{}
	}
	c.children[p] = struct{}{}
	return true
}

// Remove takes p out of the set: its result was lost.
func (c *Completion) Remove(p messages.Position) {
	if !p.IsChild() {
		c.roots.Remove(uint32(p.Index())) //nolint:gosec // positions are bounded by 1<<31
		return
	}
	delete(c.children, p)
}

// Has tells whether p has a result.
func (c *Completion) Has(p messages.Position) bool {
	if !p.IsChild() {
		return c.roots.Contains(uint32(p.Index())) //nolint:gosec // positions are bounded by 1<<31
	}
	_, have := c.children[p]
	return have
}

// Roots is how many of the plan's own positions are in the set.
func (c *Completion) Roots() int { return int(c.roots.GetCardinality()) } //nolint:gosec // at most 1<<32

// Before is how many of the plan's own positions before index are in the set.
func (c *Completion) Before(index int) int {
	if index < 1 {
		return 0
	}
	return int(c.roots.Rank(uint32(index - 1))) //nolint:gosec // positions are bounded by 1<<31
}

// Missing lists up to limit of the plan's positions, of total, that are not in the set, in order.
func (c *Completion) Missing(total, limit int) []messages.Position {
	var missing []messages.Position
	for i := 0; i < total && len(missing) < limit; i++ {
		if !c.roots.Contains(uint32(i)) { //nolint:gosec // positions are bounded by 1<<31
			missing = append(missing, messages.PositionAt(i))
		}
	}
	return missing
}
