package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// Submit plans a query and stores it as running: the leading coordinator begins at once. Errors about the query itself
// wrap query.ErrInvalid or come from the definition; nothing is stored then.
func (c *Coordinator) Submit(ctx context.Context, spec *query.Spec) (*messages.Query, error) {
	return c.SubmitAs(ctx, spec, messages.Submission{})
}

// SubmitAs is Submit by somebody who is known. What is submitted again under the same key is the query that there is: it is given with an
// error that wraps query.ErrRepeated. Another spec under the same key is an error that wraps query.ErrKeyReused.
func (c *Coordinator) SubmitAs(ctx context.Context, spec *query.Spec, by messages.Submission) (q *messages.Query, err error) {
	if by.Trace == "" {
		var span func(error, ...slog.Attr)
		ctx, span = c.ports.Tracer.Start(ctx, "submit", slog.String("service", spec.Service), slog.String("collection", spec.Collection))
		defer func() {
			switch {
			case q == nil:
				span(err)
			case errors.Is(err, query.ErrRepeated):
				span(nil, slog.String("query", q.ID), slog.Bool("repeated", true))
			default:
				span(err, slog.String("query", q.ID), slog.Int("chunks", q.Chunks))
			}
		}()
		by.Trace = c.ports.Tracer.Parent(ctx)
	}
	return c.submitAs(ctx, spec, by)
}

func (c *Coordinator) submitAs(ctx context.Context, spec *query.Spec, by messages.Submission) (*messages.Query, error) {
	var digestAsked string
	if by.Key != "" {
		var err error
		if digestAsked, err = digestOf(spec); err != nil {
			return nil, err
		}
		if q, err := c.repeated(ctx, by.Key, digestAsked); q != nil || err != nil {
			return q, err
		}
	}
	now := c.ports.Now() // a resume plans as of the record's Created
	definition, p, err := plan(c.ports.Definitions, c.ports.Library, c.ports.Adapters, spec, now)
	if err != nil {
		return nil, err
	}
	digest := service.Digest(definition)
	from, err := c.goOn(ctx, spec, p, digest)
	if err != nil {
		return nil, err
	}
	if from.base != "" {
		if p, err = c.narrowedSpec(from, p.definition, now); err != nil {
			return nil, err
		}
	}
	fingerprint, err := planner.Fingerprint(p.plan)
	if err != nil {
		return nil, err
	}
	text, err := from.spec.Lasting().Encode()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	if err := c.ports.Services.PutDefinition(ctx, digest, definition); err != nil {
		return nil, err
	}
	q := &messages.Query{
		V: messages.Version, Name: spec.Name, Service: spec.Service, Collection: spec.Collection,
		Definition: digest, Spec: service.Digest(text), Fingerprint: fingerprint, Chunks: p.plan.Len(), URL: p.canonicalURL(),
		State: messages.Running, Run: 1, WaitUpTo: time.Duration(spec.Run.OnQuota.WaitUpTo), AllowBad: spec.BadValues == query.BadValuesAllow,
		Covered: spec.Coverage == query.CoverageRequire, Unchanged: spec.Changed == query.ChangedRequireNone, InFlight: spec.Run.InFlight, Rank: spec.Run.Rank(),
		MaxRequests: spec.Run.MaxRequests,
		MaxRows:     spec.MaxRows, Lineage: from.lineage, Base: from.base, Mark: from.mark,
		Owner: by.Owner, Team: by.Team, Key: by.Key, Asked: digestAsked, Trace: by.Trace, Created: now, Updated: now,
	}
	if _, err := c.ensureService(ctx, p, q); err != nil {
		return nil, err
	}
	switch err := c.create(ctx, q, text); {
	case errors.Is(err, query.ErrRepeated):
		return q, err
	case err != nil:
		return nil, fmt.Errorf("submit: %w", err)
	}
	c.ports.Observer.Submitted(q.Service)
	c.logOf(q).Info("submitted", "service", q.Service, "collection", q.Collection, "chunks", q.Chunks)
	return q, nil
}

func plan(
	definitions Definitions, library *service.Library, adapters map[string]Adapter, spec *query.Spec, now time.Time,
) (definition []byte, p *pinned, err error) {
	if err := spec.Validate(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	if definition, err = definitions.Pinned(spec.Service); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	opened, err := library.Open(definition)
	if err == nil {
		p, err = prepare(spec, opened, adapters, now)
	}
	if err != nil && !errors.Is(err, query.ErrInvalid) {
		err = fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	return definition, p, err
}

// Resume runs again what has no result. A running query is left running; a complete one is an error that wraps query.ErrState.
// Failed positions are tried again too.
func (c *Coordinator) Resume(ctx context.Context, id string, opts ResumeOptions) (*messages.Query, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("resume %s: %w", id, err)
	}
	for {
		q, revision, err := c.ports.Queries.LoadQuery(ctx, id)
		if err != nil {
			return nil, err
		}
		if q.State == messages.Complete {
			return q, fmt.Errorf("resume %s: %w: it is complete", id, query.ErrState)
		}
		s, err := c.resume(ctx, seen{id: id, query: q, revision: revision}, &opts, nil)
		if !errors.Is(err, messages.ErrConflict) {
			return s.query, err
		}
	}
}

// resume begins a further run of all that has no result; only is what a run by itself goes on being limited to. opts is nil when nobody
// asked for it but the query's own pause is over: then its budget is what is left of it.
func (c *Coordinator) resume(ctx context.Context, s seen, opts *ResumeOptions, only []messages.Position) (seen, error) {
	if !s.query.State.Active() {
		return c.begin(ctx, s, opts, only)
	}
	q := *s.query
	if !opts.applyWhileRunning(&q) {
		return s, nil
	}
	q.Updated = c.ports.Now()
	revision, err := c.ports.Queries.SaveQuery(ctx, &q, s.revision)
	if err != nil {
		return s, fmt.Errorf("resume %s: %w", q.ID, err)
	}
	c.logOf(&q).Info("resumed", "run", q.Run)
	return seen{id: q.ID, query: &q, revision: revision, old: true}, nil
}

// Cancel stops a query for good, at once; completed work is kept until the query is removed. A query that has ended is
// an error that wraps query.ErrState.
func (c *Coordinator) Cancel(ctx context.Context, id string) (*messages.Query, error) {
	for {
		q, revision, err := c.ports.Queries.LoadQuery(ctx, id)
		if err != nil {
			return nil, err
		}
		switch { // how a query ended stays as it is
		case q.State == messages.Failed:
			return q, fmt.Errorf("cancel %s: %w: it has failed already; nothing runs", id, query.ErrState)
		case !q.State.Active() && q.State != messages.Interrupted:
			return q, fmt.Errorf("cancel %s: %w: it is %s already; nothing runs", id, query.ErrState, q.State)
		}
		q.State, q.Updated = messages.Cancelled, c.ports.Now()
		q.Stop = &messages.Stop{Kind: messages.StopCancelled, Reason: "cancelled on request", At: q.Updated}
		_, err = c.ports.Queries.SaveQuery(ctx, q, revision)
		if errors.Is(err, messages.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cancel %s: %w", id, err)
		}
		return q, c.ports.Items.PurgeItems(ctx, q.Service, q.ID)
	}
}

// Remove deletes a query with all that was kept of it. An active query is an error that wraps query.ErrState.
func (c *Coordinator) Remove(ctx context.Context, id string) error {
	for {
		q, _, err := c.ports.Queries.LoadQuery(ctx, id)
		if err != nil {
			return err
		}
		if err := c.removeUnchanged(ctx, q); !errors.Is(err, messages.ErrConflict) {
			return err
		}
	}
}

// removeUnchanged removes a query whose record is still this one; else the error wraps messages.ErrConflict.
func (c *Coordinator) removeUnchanged(ctx context.Context, q *messages.Query) error {
	if q.State.Active() {
		return fmt.Errorf("remove %s: %w: it is %s; cancel it first", q.ID, query.ErrState, q.State)
	}
	if err := c.checkNeeded(ctx, q); err != nil {
		return err
	}
	return c.ports.Queries.RemoveQuery(ctx, q)
}

// Interrupt stops an active query in an orderly way because its process is asked to stop; it can be resumed. One that waits for
// its time keeps its reason and that time, and waits no more.
func (c *Coordinator) Interrupt(ctx context.Context, id, reason string) error {
	return c.interrupt(ctx, id, messages.StopDrained, reason)
}

// InterruptFull stops an active query because no more can be stored, and its process ends for that.
func (c *Coordinator) InterruptFull(ctx context.Context, id, reason string) error {
	return c.interrupt(ctx, id, string(messages.StoreFull), reason)
}

func (c *Coordinator) interrupt(ctx context.Context, id, kind, reason string) error {
	for {
		q, revision, err := c.ports.Queries.LoadQuery(ctx, id)
		if err != nil {
			return err
		}
		if !q.State.Active() && !q.ResumesByItself() {
			return nil
		}
		waits := !q.State.Active()
		q.State, q.Updated = messages.Interrupted, c.ports.Now()
		if waits {
			q.WaitUpTo = 0
		} else {
			q.Stop = &messages.Stop{Kind: kind, Reason: messages.Text(reason), At: q.Updated}
		}
		_, err = c.ports.Queries.SaveQuery(ctx, q, revision)
		if errors.Is(err, messages.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("interrupt %s: %w", id, err)
		}
		return c.ports.Items.PurgeItems(ctx, q.Service, q.ID)
	}
}

// latest stands for the newest query where an id is asked for.
const latest = "latest"

// Find gives the query whose id is, or begins with, prefix; an empty prefix, or latest, the newest query. Errors wrap
// messages.ErrNotFound or query.ErrAmbiguous.
func (c *Coordinator) Find(ctx context.Context, prefix string) (*messages.Query, error) {
	if prefix == latest {
		prefix = ""
	}
	if prefix != "" {
		q, _, err := c.ports.Queries.LoadQuery(ctx, prefix)
		if err == nil {
			return q, nil
		}
		if !errors.Is(err, messages.ErrNotFound) {
			return nil, err
		}
	}
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []*messages.Query
	for _, q := range all {
		if prefix == "" {
			return q, nil
		}
		if strings.HasPrefix(q.ID, prefix) {
			found = append(found, q)
		}
	}
	switch len(found) {
	case 0:
		if prefix == "" {
			return nil, fmt.Errorf("there are no queries yet (%w); braid run QUERY.yaml runs one", messages.ErrNotFound)
		}
		return nil, fmt.Errorf("query %.40q: %w; braid list shows the queries", prefix, messages.ErrNotFound)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("query %.40q: %w: %s and %s; write more of the id", prefix, query.ErrAmbiguous, found[0].ID, found[1].ID)
}

// List gives all queries, the newest first.
func (c *Coordinator) List(ctx context.Context) ([]*messages.Query, error) {
	all, err := c.ports.Catalogue.ListQueries(ctx)
	slices.SortFunc(all, func(a, b *messages.Query) int {
		return a.Place().Compare(b.Place())
	})
	return all, err
}
