package coordinator

import (
	"context"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// Bounds of what is shown at a time.
const (
	MaxBins   = 4096 // of a grid
	MaxPoints = 1000 // of a series
	MaxListed = 1000 // chunks of a list, and rows of a preview
)

// Grid says where the positions of a query's plan stand, from one to before another, counted in at most so many bins; a to of 0 is the
// plan's end. What has been read when it is asked for the first time may be a part of what is stored: Reading says so. Errors about
// parameters are a *query.ParameterError.
func (c *Coordinator) Grid(ctx context.Context, id string, from, to, bins int) (*messages.Grid, error) {
	if err := within("bins", bins, 1, MaxBins); err != nil {
		return nil, err
	}
	w, err := c.watch(ctx, id)
	if err != nil {
		return nil, err
	}
	q := w.query
	if to == 0 {
		to = q.Chunks
	}
	if from < 0 || from >= q.Chunks {
		return nil, query.Parameterf("from", "%d is no position of the query; use 0 to %d", from, q.Chunks-1)
	}
	if to <= from || to > q.Chunks {
		return nil, query.Parameterf("to", "%d: use %d to %d; it is the position behind the last one that is shown", to, from+1, q.Chunks)
	}
	g := &messages.Grid{V: messages.Version, Query: q.ID, Run: q.Run, Chunks: q.Chunks, From: from, To: to, Width: (to - from + bins - 1) / bins}
	n := (to - from + g.Width - 1) / g.Width
	g.Done, g.Empty, g.Split, g.Failed, g.InFlight = make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	w.picture.look(w, c.ports.Now(), func(r *reading, reading bool) {
		g.Reading = reading
		r.chart.count(g, w.spans)
	})
	return g, nil
}

// within refuses what is out of bounds.
func within(name string, n, low, high int) error {
	if n < low || n > high {
		return query.Parameterf(name, "it is %d; use %d to %d", n, low, high)
	}
	return nil
}
