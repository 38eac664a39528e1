package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// Plan checks and plans a query, and stores nothing.
func (c *Coordinator) Plan(spec *query.Spec) (*messages.PlanSummary, error) {
	return Plan(c.ports.Definitions, spec, PlanOptions{InFlight: c.cfg.InFlight, Now: c.ports.Now()})
}

// PlanOptions is what a plan's summary depends on beside the query.
type PlanOptions struct {
	InFlight int       // an explicit number of requests at a time, or 0
	Now      time.Time // for the estimate of an interval without an end
	// HasKey tells whether requests of the service will carry a credential. Nil: it is the workers' to know.
	HasKey func(*service.Definition) bool
}

// Plan checks and plans a query without a coordinator: nothing is stored or sent.
func Plan(definitions Definitions, spec *query.Spec, opts PlanOptions) (*messages.PlanSummary, error) {
	_, p, err := plan(definitions, spec, opts.InFlight, opts.Now)
	if err != nil {
		return nil, err
	}
	return p.summary(opts)
}

func (p *pinned) summary(opts PlanOptions) (*messages.PlanSummary, error) {
	fingerprint, err := planner.Fingerprint(p.plan)
	if err != nil {
		return nil, err
	}
	limits := p.collection.Limits
	s := &messages.PlanSummary{
		Service: p.spec.Service, Collection: p.spec.Collection, Chunks: p.plan.Len(), Fingerprint: fingerprint, InFlight: p.slots,
		URLLimit: limits.URLBytes, BodyLimit: limits.BodyBytes, PageRows: limits.PageRows, LargestValues: map[string]int{},
	}
	w := walks{collection: p.collection, now: opts.Now}
	for chunk := range p.plan.All() {
		if err := p.measure(s, chunk); err != nil {
			return nil, err
		}
		w.add(chunk)
	}
	w.reckon(s)
	if rows, known := p.collection.EstimateRows(p.spec.Values, opts.Now); known {
		s.EstimatedRows = rows
	}
	p.budget(s, opts.HasKey)
	return s, nil
}

// measure adds one chunk's request to what is known of all.
func (p *pinned) measure(s *messages.PlanSummary, chunk planner.Chunk) error {
	request, err := p.collection.Request(chunk.Values)
	if err != nil {
		return err
	}
	s.LongestURLBytes = max(s.LongestURLBytes, len(request.URL))
	s.LongestBodyBytes = max(s.LongestBodyBytes, len(request.Body))
	if s.FirstURL == "" {
		s.Method, s.FirstURL, s.FirstBody = request.Method, messages.Text(request.URL), messages.Text(string(request.Body))
	}
	s.LastURL, s.LastBody = messages.Text(request.URL), messages.Text(string(request.Body))
	for _, name := range slices.Sorted(maps.Keys(chunk.Values)) {
		if len(p.spec.Values[name]) > 1 && len(chunk.Values[name]) < len(p.spec.Values[name]) {
			s.LargestValues[name] = max(s.LargestValues[name], len(chunk.Values[name]))
		}
	}
	return nil
}

// walks reckons how many requests the chunks of a plan take.
type walks struct {
	collection *service.Collection
	now        time.Time

	chunks, pages, longest int64
	unknown                bool // the pages of some chunk
}

// add counts a chunk. Chunks are counted apart: a page that is full to its last row needs no second one.
func (w *walks) add(chunk planner.Chunk) {
	w.chunks++
	pages, known := w.of(chunk)
	w.unknown = w.unknown || !known
	w.pages += pages
	w.longest = max(w.longest, pages)
}

// of is how many requests a chunk takes by the estimate of its rows.
func (w *walks) of(chunk planner.Chunk) (requests int64, known bool) {
	if w.collection.Paging().Style == service.PagingNone {
		return 1, true
	}
	rows, known := w.collection.EstimateRows(chunk.Values, w.now)
	page := int64(w.collection.Limits.PageRows)
	if !known || page == 0 {
		return 1, false
	}
	return max(1, (rows+page-1)/page), true
}

// reckon puts the counts into the summary: one request a chunk at least, for what a chunk asks for may be empty. The most
// is known only where a chunk never has a second page.
func (w *walks) reckon(s *messages.PlanSummary) {
	s.LeastRequests = w.chunks
	if w.unknown {
		return
	}
	s.ExpectedRequests, s.LongestWalk = w.pages, w.longest
	if w.collection.Paging().Style == service.PagingNone {
		s.MostRequests = w.chunks
	}
}
