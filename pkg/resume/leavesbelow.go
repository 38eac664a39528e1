package resume

import (
	"iter"

	"github.com/braidhq/braid/pkg/messages"
)

// LeavesBelow yields the positions below p that have rows or were said to have none, in order, when p counts and is split.
func (c *Completion) LeavesBelow(p messages.Position) iter.Seq[messages.Position] {
	return func(yield func(messages.Position) bool) {
		if c.IsSplit(p) && c.Counts(p) {
			c.walk(p, hasRows, yield)
		}
	}
}
