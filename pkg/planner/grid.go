package planner

import (
	"iter"
	"maps"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// grid is the product of the pieces of its axes, the last axis fastest. It holds where each axis is cut, not chunks: a
// chunk is made when it is asked for.
type grid struct {
	fixed service.Values
	axes  []*axis
}

// axis is one direction of a grid. It has two or more atoms: values, clauses, or windows of an interval.
type axis struct {
	param   string
	kind    service.AxisKind
	values  []string // all but window axes: the atoms, in order
	cuts    []int    // pack and clauses axes: the piece i ends before the value cuts[i]
	windows *windows // window axes

	written   []string // clauses axes: the filter as it was written,
	asWritten bool     // which it stays while it is one piece and this is set
}

// len is the number of pieces.
func (a *axis) len() int {
	switch a.kind {
	case service.AxisWindow:
		return a.windows.len()
	case service.AxisEach:
		return len(a.values)
	case service.AxisPack, service.AxisClauses:
	}
	return len(a.cuts)
}

func (a *axis) piece(i int) []string {
	switch {
	case a.kind == service.AxisWindow:
		return a.windows.piece(i)
	case a.kind == service.AxisEach:
		return a.values[i : i+1 : i+1]
	case len(a.cuts) == 1 && a.asWritten:
		return a.written
	case i == 0:
		return a.values[:a.cuts[0]:a.cuts[0]]
	}
	return a.values[a.cuts[i-1]:a.cuts[i]:a.cuts[i]]
}

// packs tells whether a piece of the axis may hold as many atoms as the limits allow.
func (a *axis) packs() bool { return a.kind == service.AxisPack || a.kind == service.AxisClauses }

// Len stays just above MaxChunks for any plan that is larger: the product of the axes of such a plan may not fit an int.
func (g *grid) Len() int {
	n := 1
	for _, a := range g.axes {
		if n > MaxChunks/a.len() {
			return MaxChunks + 1
		}
		n *= a.len()
	}
	return n
}

// All yields the chunks, the last axis fastest.
func (g *grid) All() iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		for i := range g.Len() {
			if !yield(g.At(i)) {
				return
			}
		}
	}
}

// At gives the chunk of a position.
func (g *grid) At(i int) Chunk {
	values := make(service.Values, len(g.fixed)+len(g.axes))
	maps.Copy(values, g.fixed)
	for _, a := range slices.Backward(g.axes) {
		values[a.param] = a.piece(i % a.len())
		i /= a.len()
	}
	return Chunk{values}
}
