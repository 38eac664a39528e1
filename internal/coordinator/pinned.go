package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// pinned is what a query keeps from its submit to its end, opened.
type pinned struct {
	spec       *query.Spec
	definition *service.Definition
	collection *service.Collection
	adapter    Adapter
	plan       planner.Plan
	options    planner.Options
	quotaWait  time.Duration
}

const defaultQuotaWait = time.Hour

// prepare checks a spec against a definition, completely, and plans it. Nothing is sent or stored.
func prepare(spec *query.Spec, d *service.Definition, adapters map[string]Adapter, now time.Time) (*pinned, error) {
	collection, err := d.Collection(spec.Collection)
	if err != nil {
		return nil, err
	}
	adapter, err := adapterOf(d, adapters)
	if err != nil {
		return nil, err
	}
	if err := collection.CheckValues(spec.Values); err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	p := &pinned{
		spec: spec, definition: d, collection: collection.WithPageRows(spec.MaxRows), adapter: adapter,
		options: planner.Options{MaxChunks: spec.MaxChunks, Now: now}, quotaWait: defaultQuotaWait,
	}
	shape := p.shape()
	if err := errors.Join(shape.Validate(), checkSelect(shape)); err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	if p.plan, err = p.divide(); err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	for _, quota := range d.Quotas {
		if d.Rebased {
			break // another service's numbers
		}
		if held := spec.Run.HoldBack; quota.Counts == "requests" && held >= quota.Limit {
			return nil, fmt.Errorf("%w: run.hold_back: %d leaves nothing of the %d that the pool %s has", query.ErrInvalid, held, quota.Limit, quota.Pool)
		}
	}
	if len(d.Quotas) > 0 {
		p.quotaWait = d.Quotas[0].Window
	}
	return p, nil
}

// open prepares a stored query again, and refuses a plan that is not the one of its submit.
func (c *Coordinator) open(ctx context.Context, q *messages.Query) (*pinned, error) {
	data, err := c.ports.Queries.LoadSpec(ctx, q)
	if err != nil {
		return nil, err
	}
	spec, err := query.DecodeSpec(data)
	if err != nil {
		return nil, err
	}
	if q.HoldBack != nil {
		spec.Run.HoldBack = *q.HoldBack
	}
	if q.OnFailure != "" {
		spec.Run.OnFailure = query.OnFailure(q.OnFailure)
	}
	definition, err := c.ports.Services.Definition(ctx, q.Definition)
	if err != nil {
		return nil, err
	}
	d, err := c.ports.Library.Open(definition)
	if err != nil {
		return nil, err
	}
	p, err := prepare(spec, d, c.ports.Adapters, q.Created)
	if err != nil {
		return nil, err
	}
	fingerprint, err := planner.Fingerprint(p.plan)
	if err != nil {
		return nil, err
	}
	if fingerprint != q.Fingerprint {
		return nil, fmt.Errorf("query %s: %w (%.12s…, begun with %.12s…); finish it with the version that began it, or run it anew",
			q.ID, query.ErrFingerprint, fingerprint, q.Fingerprint)
	}
	return p, nil
}

// shape says how the query's rows become its table.
func (p *pinned) shape() frame.Shape {
	shape := p.collection.Shape()
	if p.adapter.Finalize != nil {
		shape.Finalize = slices.Concat(shape.Finalize, p.adapter.Finalize(p.collection.Name))
	}
	shape.Select = p.spec.Select
	shape.Roles = p.collection.Roles(p.asked(), p.options.Now)
	if p.spec.MaxRows > 0 || slices.ContainsFunc(shape.Finalize, func(op frame.Operation) bool { return op.Limit != nil }) {
		shape.Roles.From = time.Time{} // what is cut off is no gap
	}
	return shape
}

// asked is what the query asks for, as it was before it was narrowed to what is younger than what others have.
func (p *pinned) asked() service.Values {
	since := p.spec.Since
	if since == nil || since.Begin == "" {
		return p.spec.Values
	}
	narrowing, err := p.collection.Narrowing(p.spec.Values, since.Column)
	if err != nil {
		return p.spec.Values
	}
	return narrowing.From(p.spec.Values, since.Begin)
}

// divide plans the query, with its values in the spelling in which they are sent, so that other spellings have the same plan.
// What an adapter makes is held to what a plan is.
func (p *pinned) divide() (planner.Plan, error) {
	values := p.collection.Canonical(p.spec.Values)
	if p.adapter.Finalize == nil { // what an adapter makes of columns is not known here
		selected := p.spec.Select
		if since := p.spec.Since; since != nil && len(selected) > 0 {
			selected = append(slices.Clip(selected), since.Column) // rows without it could not be gone on from
		}
		values = p.collection.Project(values, selected)
	}
	if p.adapter.Plan == nil {
		return planner.Divide(p.collection, values, p.options)
	}
	plan, err := p.adapter.Plan.Plan(p.collection, values, p.options)
	if err == nil {
		err = planner.Verify(plan)
	}
	if err != nil {
		return nil, fmt.Errorf("the adapter %s: %w", p.definition.Adapter, err)
	}
	return plan, nil
}

// split divides a chunk that the service refused as too large.
func (p *pinned) split(chunk planner.Chunk) (halves [2]planner.Chunk, ok bool) {
	if own, ok := p.adapter.Plan.(planner.Splitter); ok {
		return own.Split(p.collection, chunk, p.options)
	}
	return planner.Split(p.collection, chunk, p.options)
}

// divisible tells whether split can divide a chunk. It asks split itself: a split that is recorded must be possible.
func (p *pinned) divisible(chunk planner.Chunk) bool {
	_, ok := p.split(chunk)
	return ok
}

// task is what an item asks a worker to do: the chunk's request, or for an adapter the values themselves.
func (p *pinned) task(chunk planner.Chunk) (json.RawMessage, error) {
	if p.definition.Adapter != "" {
		return service.Task{Collection: p.collection.Name, Values: chunk.Values}.Encode()
	}
	request, err := p.collection.Request(chunk.Values)
	if err != nil {
		return nil, err
	}
	return json.Marshal(request)
}

// canonicalURL is the whole query as one request, for people and the manifest; it is no identity.
func (p *pinned) canonicalURL() string {
	if p.definition.Adapter != "" {
		return ""
	}
	request, err := p.collection.Request(p.collection.Project(p.spec.Values, p.spec.Select))
	if err != nil {
		return "" // several values where a request takes one: the query has no single request
	}
	return messages.Text(request.URL)
}
