package planner

import (
	"iter"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// Chunk is one piece of a query: the values of one request. Whoever gets one must not change it: chunks of one plan share
// their lists of values. A parameter on a clauses axis has a list of clauses, which the request joins with OR.
type Chunk struct{ Values service.Values }

// Plan is a sized, repeatably iterable collection of chunks, and nothing more. Each iteration yields Len chunks, the same
// ones in the same order, also while another one is under way. Package plantest has this contract as a check.
type Plan interface {
	Len() int
	All() iter.Seq[Chunk]
}

// Indexed is a plan that finds the chunk of a position without iterating. At yields what the iteration yields there;
// i is from 0 to Len()-1.
type Indexed interface {
	Plan
	At(i int) Chunk
}

// Planner makes plans. Divide is the one of declared axes; an adapter may bring its own. Equal arguments give equal plans:
// a resume plans again and refuses a plan with another fingerprint.
type Planner interface {
	Plan(c *service.Collection, values service.Values, opts Options) (Plan, error)
}

// List is a plan that is a plain slice.
type List []Chunk

// Len is the number of chunks.
func (l List) Len() int { return len(l) }

// All yields the chunks in position order.
func (l List) All() iter.Seq[Chunk] { return slices.Values(l) }

// At gives the chunk of a position.
func (l List) At(i int) Chunk { return l[i] }

// ChunkAt finds the chunk of a position: at once in a plan that is Indexed, else by iterating. ok is false when the plan
// has no such position.
func ChunkAt(p Plan, i int) (chunk Chunk, ok bool) {
	if i < 0 || i >= p.Len() {
		return Chunk{}, false
	}
	if indexed, ok := p.(Indexed); ok {
		return indexed.At(i), true
	}
	for chunk := range p.All() {
		if i == 0 {
			return chunk, true
		}
		i--
	}
	return Chunk{}, false
}
