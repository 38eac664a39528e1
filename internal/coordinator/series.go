package coordinator

import (
	"context"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// Series tells how a query went over time in at most so many steps, as its results tell: work that left no result is in none of them. Times
// are told within 5 %.
func (c *Coordinator) Series(ctx context.Context, id string, points int) (*messages.Series, error) {
	if err := within("points", points, 1, MaxPoints); err != nil {
		return nil, err
	}
	w, err := c.watch(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &messages.Series{
		V: messages.Version, Query: w.query.ID, Chunks: []int64{}, Requests: []int64{}, Rows: []int64{}, Bytes: []int64{},
		Median: []*float64{}, P95: []*float64{}, Wait: []*float64{}, Interruptions: []*messages.Interruption{},
	}
	w.picture.look(w, c.ports.Now(), func(r *reading, reading bool) {
		s.Reading = reading
		r.chart.course.fill(s, points)
		s.Interruptions = append(s.Interruptions, r.told...)
	})
	slices.Reverse(s.Interruptions)
	slices.SortStableFunc(s.Interruptions, func(a, b *messages.Interruption) int { return b.At.Compare(a.At) })
	return s, nil
}
