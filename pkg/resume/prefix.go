package resume

import (
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// prefix is how far a query that asks for its first rows has them: all that stands before at is complete.
type prefix struct {
	at      messages.Position
	rows    int64                      // before at
	results map[messages.Position]kept // of all positions, as far as they were told
	last    messages.Position          // the highest of them, or a higher one
}

// kept is what a prefix knows of a result.
type kept struct {
	rows    int64
	attempt string
}

func newPrefix() *prefix {
	return &prefix{at: messages.PositionAt(0), results: map[messages.Position]kept{}}
}

// take notes a result. One that changes what was counted makes the prefix begin anew.
func (x *prefix) take(h *messages.ResultHeader) {
	k := kept{h.Rows, h.Attempt}
	if x.results[h.Position] != k {
		x.forget(h.Position)
	}
	x.results[h.Position] = k
	if x.last == "" || x.last.Compare(h.Position) < 0 {
		x.last = h.Position
	}
}

// forget notes that p has no result.
func (x *prefix) forget(p messages.Position) {
	delete(x.results, p)
	if p.Compare(x.at) < 0 {
		x.at, x.rows = messages.PositionAt(0), 0
	}
}

// advance goes over what is complete, until it has limit rows or meets a position that has none.
func (x *prefix) advance(c *Completion, total int, limit int64) {
	for x.rows < limit && x.at.Index() < total {
		switch c.of(x.at) {
		case isSplit:
			x.at, _, _ = x.at.Children()
		case hasRows:
			x.rows += x.results[x.at].rows
			x.at = following(x.at)
		case noResult:
			return
		}
	}
}

// following is the position behind p and all that could be below it.
func following(p messages.Position) messages.Position {
	for p.IsChild() {
		parent := p.Parent()
		if first, second, _ := parent.Children(); p == first {
			return second
		}
		p = parent
	}
	return messages.PositionAt(p.Index() + 1)
}

// Discarded is a result that is to be removed, of the attempt that stored it.
type Discarded struct {
	Position messages.Position
	Attempt  string
}

// behind lists the results behind the first position that has none. A run that goes in order leaves none there unless one
// before them was lost. They were asked for no more rows than were wanted with what stood before them then, and with what
// will stand there now these may be too few.
func (x *prefix) behind() []Discarded {
	if x.last.Compare(x.at) <= 0 {
		return nil
	}
	var found []Discarded
	for p, k := range x.results {
		if p.Compare(x.at) > 0 {
			found = append(found, Discarded{p, k.attempt})
		}
	}
	if len(found) == 0 {
		x.last = x.at
	}
	slices.SortFunc(found, func(a, b Discarded) int { return a.Position.Compare(b.Position) })
	return found
}
