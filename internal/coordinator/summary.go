package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
)

// Plan checks and plans a query, and stores nothing.
func (c *Coordinator) Plan(spec *query.Spec) (*messages.PlanSummary, error) {
	return Plan(c.ports.Definitions, spec, c.cfg.InFlight, c.ports.Now())
}

// Plan checks and plans a query without a coordinator: nothing is stored or sent. inFlight is an explicit number of
// requests at a time, or 0.
func Plan(definitions Definitions, spec *query.Spec, inFlight int, now time.Time) (*messages.PlanSummary, error) {
	_, p, err := plan(definitions, spec, inFlight, now)
	if err != nil {
		return nil, err
	}
	return p.summary(now)
}

func (p *pinned) summary(now time.Time) (*messages.PlanSummary, error) {
	fingerprint, err := planner.Fingerprint(p.plan)
	if err != nil {
		return nil, err
	}
	s := &messages.PlanSummary{
		Service: p.spec.Service, Collection: p.spec.Collection, Chunks: p.plan.Len(), URLLimit: p.collection.Limits.URLBytes,
		Fingerprint: fingerprint, InFlight: p.slots, LargestValues: map[string]int{},
	}
	for chunk := range p.plan.All() {
		request, err := p.collection.Request(chunk.Values)
		if err != nil {
			return nil, err
		}
		s.LongestURLBytes = max(s.LongestURLBytes, len(request.URL))
		if s.FirstURL == "" {
			s.FirstURL = messages.Text(request.URL)
		}
		s.LastURL = messages.Text(request.URL)
		for _, name := range slices.Sorted(maps.Keys(chunk.Values)) {
			if len(p.spec.Values[name]) > 1 && len(chunk.Values[name]) < len(p.spec.Values[name]) {
				s.LargestValues[name] = max(s.LargestValues[name], len(chunk.Values[name]))
			}
		}
		// Chunks are counted apart: a page that is full to its last row needs no second one.
		s.LeastRequests += pages(p, chunk, now)
	}
	if rows, known := p.collection.EstimateRows(p.spec.Values, now); known {
		s.EstimatedRows = rows
	}
	return s, nil
}

// pages is how many requests a chunk takes by the estimate of its rows; without one, at least one.
func pages(p *pinned, chunk planner.Chunk, now time.Time) int64 {
	rows, known := p.collection.EstimateRows(chunk.Values, now)
	page := int64(p.collection.Limits.PageRows)
	if !known || page == 0 {
		return 1
	}
	return max(1, (rows+page-1)/page)
}
