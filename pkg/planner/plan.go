package planner

import (
	"iter"
	"maps"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// Chunk is one piece of a query: the values of one request. Whoever gets one must not change it.
type Chunk struct{ Values service.Values }

// Plan is a sized, repeatably iterable collection of chunks, and nothing more. Each iteration yields Len chunks, the same
// ones in the same order.
type Plan interface {
	Len() int
	All() iter.Seq[Chunk]
}

// List is a plan that is a plain slice.
type List []Chunk

// Len is the number of chunks.
func (l List) Len() int { return len(l) }

// All yields the chunks in position order.
func (l List) All() iter.Seq[Chunk] { return slices.Values(l) }

// grid is the product of the pieces of its axes, the last axis fastest. It holds pieces, not chunks.
type grid struct {
	fixed service.Values
	axes  []axis
}

type axis struct {
	param  string
	pieces [][]string
}

// Len stays just above MaxChunks for any plan that is larger: the product of the axes of such a plan may not fit an int.
func (g *grid) Len() int {
	n := 1
	for _, a := range g.axes {
		if n > MaxChunks/len(a.pieces) {
			return MaxChunks + 1
		}
		n *= len(a.pieces)
	}
	return n
}

func (g *grid) All() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		at := make([]int, len(g.axes))
		for {
			if !yield(g.chunk(at)) {
				return
			}
			i := len(at) - 1
			for ; i >= 0; i-- {
				if at[i]++; at[i] < len(g.axes[i].pieces) {
					break
				}
				at[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}

func (g *grid) chunk(at []int) Chunk {
	values := make(service.Values, len(g.fixed)+len(at))
	maps.Copy(values, g.fixed)
	for i, a := range g.axes {
		values[a.param] = a.pieces[at[i]]
	}
	return Chunk{values}
}
