package coordinator

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// Plan checks and plans a query, and stores nothing.
func (c *Coordinator) Plan(ctx context.Context, spec *query.Spec) (*messages.PlanSummary, error) {
	opts := PlanOptions{InFlight: c.cfg.InFlight, DefaultInFlight: c.cfg.DefaultInFlight, Now: c.ports.Now()}
	if c.ports.Quotas != nil {
		opts.Standing = func(_ *service.Definition, pool string) (*messages.QuotaStanding, messages.Unknown) {
			s, err := c.standing(ctx, pool)
			switch {
			case err != nil:
				return nil, "the accounts of quotas cannot be read just now"
			case s == nil:
				return nil, NeverSpent
			}
			return s, ""
		}
	}
	definition, p, err := plan(c.ports.Definitions, c.ports.Library, c.ports.Adapters, spec, opts.Now)
	if err != nil {
		return nil, err
	}
	return p.summary(definition, opts)
}

// PlanOptions is what a plan's summary depends on beside the query.
type PlanOptions struct {
	InFlight        messages.InFlight // the operator's number of requests at a time, or 0
	DefaultInFlight messages.InFlight // where the query asks for none, or 0
	Lanes           int               // most chunks at a time that all workers together take; 0: not known
	Now             time.Time         // for the estimate of an interval without an end
	// HasKey tells whether requests of the service will carry a credential. Nil: it is the workers' to know.
	HasKey func(*service.Definition) bool
	// Standing tells how a pool of the definition stands, or why that is not known. Nil: it is not known.
	Standing func(d *service.Definition, pool string) (*messages.QuotaStanding, messages.Unknown)
	// Adapters are those that are compiled in, by the name that definitions give.
	Adapters map[string]Adapter
	Library  *service.Library // keeps opened definitions; nil: each is opened anew
}

// NeverSpent is why it is not known what is left of a pool that has no account.
const NeverSpent messages.Unknown = "no query has spent it yet"

// Plan checks and plans a query without a coordinator: nothing is stored or sent.
func Plan(definitions Definitions, spec *query.Spec, opts PlanOptions) (*messages.PlanSummary, error) {
	definition, p, err := plan(definitions, opts.Library, opts.Adapters, spec, opts.Now)
	if err != nil {
		return nil, err
	}
	return p.summary(definition, opts)
}

func (p *pinned) summary(definition []byte, opts PlanOptions) (*messages.PlanSummary, error) {
	fingerprint, err := planner.Fingerprint(p.plan)
	if err != nil {
		return nil, err
	}
	limits := p.collection.Limits
	slots := resolveInFlight(opts.InFlight, p.spec.Run.InFlight, opts.DefaultInFlight, p.definition.Limits.InFlight).Slots(p.plan.Len())
	s := &messages.PlanSummary{
		Service: p.spec.Service, Collection: p.spec.Collection, Chunks: p.plan.Len(), Fingerprint: fingerprint, InFlight: slots,
		URLLimit: limits.URLBytes, BodyLimit: limits.BodyBytes, RequestLimit: limits.RequestBytes, PageRows: limits.PageRows, LargestValues: map[string]int{},
		MaxRows: p.spec.MaxRows, Definition: service.Digest(definition),
	}
	if opts.Lanes > 0 {
		s.InFlight = min(s.InFlight, opts.Lanes)
	}
	if s.MaxRows > 0 {
		s.InFlight = 1 // what lies behind the rows that are wanted must not be asked for
		s.PageRows = int(min(int64(s.PageRows), s.MaxRows))
	}
	w := walks{collection: p.collection, adapter: p.definition.Adapter, now: opts.Now, page: int64(s.PageRows), wanted: s.MaxRows}
	for chunk := range p.plan.All() {
		if err := p.measure(s, chunk); err != nil {
			return nil, err
		}
		w.add(chunk)
	}
	w.reckon(s)
	rows, err := p.collection.EstimateRows(p.spec.Values, opts.Now)
	switch {
	case err != nil:
		s.RowsUnknown = whyUnknown(err)
	case s.MaxRows > 0:
		s.EstimatedRows = min(rows, s.MaxRows)
	default:
		s.EstimatedRows = rows
	}
	p.budget(s, opts)
	return s, nil
}

// whyUnknown is what a summary tells of rows that cannot be estimated: the reason alone.
func whyUnknown(err error) messages.Unknown {
	return messages.Unknown(messages.Text(strings.TrimPrefix(err.Error(), service.ErrNotEstimated.Error()+": ")))
}

// measure adds one chunk to what is known of all.
func (p *pinned) measure(s *messages.PlanSummary, chunk planner.Chunk) error {
	for _, name := range slices.Sorted(maps.Keys(chunk.Values)) {
		if len(p.spec.Values[name]) > 1 && len(chunk.Values[name]) < len(p.spec.Values[name]) {
			s.LargestValues[name] = max(s.LargestValues[name], len(chunk.Values[name]))
		}
	}
	if p.definition.Adapter != "" {
		return nil // its requests are its own
	}
	request, err := p.collection.Request(chunk.Values)
	if err != nil {
		return err
	}
	s.LongestURLBytes = max(s.LongestURLBytes, len(request.URL))
	s.LongestBodyBytes = max(s.LongestBodyBytes, len(request.Body))
	if s.RequestLimit > 0 {
		s.LongestRequestBytes = max(s.LongestRequestBytes, request.Size())
	}
	if s.FirstURL == "" {
		s.Method, s.FirstURL, s.FirstBody = request.Method, messages.Text(request.URL), messages.Text(string(request.Body))
	}
	s.LastMethod, s.LastURL, s.LastBody = request.Method, messages.Text(request.URL), messages.Text(string(request.Body))
	return nil
}

// walks reckons how many requests the chunks of a plan take.
type walks struct {
	collection *service.Collection
	adapter    string // that makes the requests; empty: the definition says how they are made
	now        time.Time
	page       int64 // rows in a full page; 0: not known
	wanted     int64 // rows that the query is complete with; 0: all

	chunks, pages, longest, rows int64
	unknown                      messages.Unknown // why the pages of some chunk are not known
}

// add counts a chunk. Chunks are counted apart: a page that is full to its last row needs no second one. Chunks behind the
// rows that are wanted are not asked for.
func (w *walks) add(chunk planner.Chunk) {
	w.chunks++
	if w.wanted > 0 && w.rows >= w.wanted {
		return
	}
	if w.adapter != "" {
		w.unknown = "how many a chunk takes is the adapter's own affair"
		return
	}
	rows, err := w.collection.EstimateRows(chunk.Values, w.now)
	if w.wanted > 0 {
		rows = min(rows, w.wanted-w.rows)
	}
	w.rows += rows
	pages := int64(1)
	switch {
	case w.wanted > 0 && err != nil:
		w.unknown = "the rows are not known: " + whyUnknown(err)
	case w.collection.Paging().Style == service.PagingNone: // always one
	case err != nil:
		w.unknown = "the rows are not known: " + whyUnknown(err)
	case w.page == 0:
		w.unknown = "how many rows a page has is not known"
	default:
		pages = max(1, (rows+w.page-1)/w.page)
	}
	if w.wanted == 0 || w.rows < w.wanted {
		pages += confirming(w.collection.Paging())
	}
	w.pages += pages
	w.longest = max(w.longest, pages)
}

// confirming is how many requests of a walk bring no rows and only confirm that it has ended.
func confirming(p service.Paging) int64 {
	if p.Stop.Kind == service.StopEmptyPage || p.Stop.Kind == service.StopShortPage {
		return 1
	}
	return 0
}

// reckon puts the counts into the summary. At least it is one request a chunk, for what a chunk asks for may be empty, or
// those that the wanted rows fill. The most is known only where a chunk never has a second page. Of an adapter's chunk it is not
// known at all what it takes.
func (w *walks) reckon(s *messages.PlanSummary) {
	s.LeastRequests, s.RequestsUnknown = w.chunks, w.unknown
	if w.wanted > 0 {
		full := int64(1)
		if w.adapter == "" && w.page > 0 && w.collection.Paging().Style != service.PagingNone {
			full = (w.wanted + w.page - 1) / w.page
		}
		s.LeastRequests = min(w.chunks, full)
	}
	if w.adapter == "" && w.collection.Paging().Style == service.PagingNone {
		s.MostRequests = w.chunks
	}
	if w.unknown == "" {
		s.ExpectedRequests, s.LongestWalk = w.pages, w.longest
	}
}
