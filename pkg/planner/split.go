package planner

import (
	"maps"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Split divides a chunk that the service refused as too large into two that together ask for exactly the same, in order. It
// halves the values of the pack or clauses axis that has the most in the chunk, of several the first axis. When none has two,
// it halves the interval of the first window axis that has two steps, at an aligned instant if one is inside, up
// to opts.Now if it has no end. ok is false when nothing in the chunk can be divided. Split is a pure function of its arguments:
// whoever repeats it gets the same. Halves can be split again; each time they are shorter, so it ends.
func Split(c *service.Collection, chunk Chunk, opts Options) (halves [2]Chunk, ok bool) {
	params := parameters(c.Parameters())
	if param, atoms := most(c, params, chunk); len(atoms) > 1 {
		middle := len(atoms) / 2
		return halved(chunk, param, atoms[:middle:middle], atoms[middle:]), true
	}
	for _, rule := range c.Axes() {
		if rule.Kind != service.AxisWindow {
			continue
		}
		param, values := params.given(chunk.Values, rule.Params[0])
		w, ok := open(params, rule, values, opts.Now)
		if !ok {
			continue
		}
		if middle, ok := w.middle(w.starts[0], w.behind); ok {
			w.starts = append(w.starts, middle)
			return halved(chunk, param, w.piece(0), w.piece(1)), true
		}
	}
	return halves, false
}

// Divisible tells whether Split can divide the chunk. It does not know what time it is: an interval that is open to now counts
// as one with an end.
func Divisible(c *service.Collection, chunk Chunk) bool {
	params := parameters(c.Parameters())
	if _, atoms := most(c, params, chunk); len(atoms) > 1 {
		return true
	}
	const lastYear = 9999
	later := time.Date(lastYear, time.December, 1, 0, 0, 0, 0, time.UTC)
	for _, rule := range c.Axes() {
		if rule.Kind != service.AxisWindow {
			continue
		}
		_, values := params.given(chunk.Values, rule.Params[0])
		if w, ok := open(params, rule, values, later); ok {
			if _, ok := w.middle(w.starts[0], w.behind); ok {
				return true
			}
		}
	}
	return false
}

// most gives the pack or clauses axis that has the most values in the chunk.
func most(c *service.Collection, params parameters, chunk Chunk) (param string, atoms []string) {
	for _, rule := range c.Axes() {
		for _, declared := range rule.Params {
			name, own := params.given(chunk.Values, declared)
			switch rule.Kind {
			case service.AxisPack:
			case service.AxisClauses:
				own = c.Clauses(declared, chunk.Values)
			case service.AxisEach, service.AxisWindow:
				own = nil
			}
			if len(own) > len(atoms) {
				param, atoms = name, own
			}
		}
	}
	return param, atoms
}

func halved(chunk Chunk, param string, left, right []string) [2]Chunk {
	var halves [2]Chunk
	for i, piece := range [][]string{left, right} {
		values := maps.Clone(chunk.Values)
		if values == nil {
			values = service.Values{}
		}
		values[param] = piece
		halves[i] = Chunk{values}
	}
	return halves
}
