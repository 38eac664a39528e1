package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
	plan       planner.Plan
	slots      int
	quotaWait  time.Duration
}

const defaultQuotaWait = time.Hour

// prepare checks a spec against a definition, completely, and plans it. Nothing is sent or stored.
func prepare(spec *query.Spec, definition []byte, inFlight int, now time.Time) (*pinned, error) {
	d, err := service.OpenPinned(definition)
	if err != nil {
		return nil, err
	}
	collection, err := d.Collection(spec.Collection)
	if err != nil {
		return nil, err
	}
	if err := collection.CheckValues(spec.Values); err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	shape := collection.Shape()
	shape.Select = spec.Select
	if err := errors.Join(shape.Validate(), checkSelect(shape)); err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	plan, err := planner.Divide(collection, spec.Values, planner.Options{MaxChunks: spec.MaxChunks, Now: now})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	p := &pinned{spec: spec, definition: d, collection: collection, plan: plan, slots: d.Limits.InFlight, quotaWait: defaultQuotaWait}
	if inFlight > 0 {
		p.slots = inFlight
	}
	if spec.Run.InFlight > 0 {
		p.slots = spec.Run.InFlight
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
	definition, err := c.ports.Services.Definition(ctx, q.Definition)
	if err != nil {
		return nil, err
	}
	p, err := prepare(spec, definition, c.cfg.InFlight, q.Created)
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

// task is what an item asks a worker to do: the chunk's request.
func (p *pinned) task(chunk planner.Chunk) (json.RawMessage, error) {
	request, err := p.collection.Request(chunk.Values)
	if err != nil {
		return nil, err
	}
	return json.Marshal(request)
}

// canonicalURL is the whole query as one request, for people and the manifest; it is no identity.
func (p *pinned) canonicalURL() string {
	request, err := p.collection.Request(p.spec.Values)
	if err != nil {
		return "" // several values where a request takes one: the query has no single request
	}
	return messages.Text(request.URL)
}
