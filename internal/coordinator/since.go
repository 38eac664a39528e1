package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// maxRuns bounds how many queries a table is made of: each of them is read for it.
const maxRuns = 10_000

// onFrom is what a query that goes on from another one is made of.
type onFrom struct {
	spec    *query.Spec // narrowed
	lineage string
	base    string // empty: there is none to go on from
	mark    time.Time
}

// goOn finds the last complete query of the same lineage and the same definition, and narrows the spec to what is younger than its rows.
// A spec without since is left as it is. Errors about the query wrap query.ErrInvalid.
func (c *Coordinator) goOn(ctx context.Context, spec *query.Spec, p *pinned, definition string) (*onFrom, error) {
	if spec.Since == nil {
		return &onFrom{spec: spec}, nil
	}
	narrowing, err := p.collection.Narrowing(spec.Values, spec.Since.Column)
	if err != nil {
		return nil, fmt.Errorf("%w: since: %w", query.ErrInvalid, err)
	}
	own, since := *spec, *spec.Since
	since.Begin = narrowing.Begin
	own.Since = &since
	to := &onFrom{spec: &own}
	if to.lineage, err = own.Lineage(p.collection.Lasting(spec.Values)); err != nil || since.Full {
		return to, err
	}
	base, err := c.lastOf(ctx, to.lineage, definition, func(before *pinned, at time.Time) bool {
		return narrowing.Extends(p.collection, before.spec.Values, spec.Values, at)
	})
	if err != nil || base == nil {
		return to, err
	}
	mark, err := c.mark(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("go on from query %s: %w", base.ID, err)
	}
	if mark.IsZero() {
		return to, nil // no row has a time: all is asked for again
	}
	own.Values = narrowing.After(spec.Values, mark.Add(-time.Duration(since.Overlap)))
	to.base, to.mark = base.ID, mark
	return to, nil
}

// lastOf gives the newest complete query of a lineage with a definition that can be gone on from, nil when there is none.
func (c *Coordinator) lastOf(ctx context.Context, lineage, definition string, extends func(before *pinned, at time.Time) bool) (*messages.Query, error) {
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range all {
		if q.Lineage != lineage || q.Definition != definition || q.State != messages.Complete {
			continue
		}
		before, err := c.open(ctx, q)
		if err != nil {
			return nil, err
		}
		if extends(before, q.Created) {
			return q, nil
		}
	}
	return nil, nil
}

// mark is the latest time that the rows of a query, and of those that it goes on from, have in the column of since. What lies behind
// the moment at which the query was begun was not there to be fetched, and a row that says so does not count.
func (c *Coordinator) mark(ctx context.Context, q *messages.Query) (time.Time, error) {
	p, err := c.open(ctx, q)
	if err != nil {
		return time.Time{}, err
	}
	run, err := c.whole(ctx, q)
	if err != nil {
		return time.Time{}, err
	}
	var damaged []messages.Position
	latest, err := frame.Greatest(ctx, p.collection.Shape(), run.survey.Columns, c.chunks(ctx, q, run.survey, &damaged), p.spec.Since.Column)
	switch {
	case len(damaged) > 0:
		return time.Time{}, c.reopen(ctx, q, damaged)
	case err != nil:
		return time.Time{}, tableError(err)
	}
	if latest.After(q.Created) {
		latest = q.Created
	}
	if q.Mark.After(latest) {
		latest = q.Mark
	}
	return latest, nil
}

// run is a query that rows of a table are of.
type run struct {
	query  *messages.Query
	survey *Survey
}

// whole surveys a query that another one goes on from, which must be complete.
func (c *Coordinator) whole(ctx context.Context, q *messages.Query) (*run, error) {
	survey, err := c.Survey(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case survey.Enough:
		return &run{q, survey}, nil
	case q.State == messages.Complete:
		return nil, c.reopen(ctx, q, missing(q, survey))
	}
	return nil, fmt.Errorf("query %s, which another one goes on from: %w: it is %s; braid resume %s goes on", q.ID, query.ErrIncomplete, q.State, q.ID)
}

// runs gives the queries that a table is made of, the oldest first: those that the query goes on from, and itself.
func (c *Coordinator) runs(ctx context.Context, q *messages.Query, survey *Survey) ([]run, error) {
	runs := []run{{q, survey}}
	for q.Base != "" {
		if len(runs) == maxRuns {
			return nil, fmt.Errorf("query %s: %w: it goes on from more than %d others; braid run QUERY.yaml --full asks for all once more", q.ID, query.ErrTable, maxRuns)
		}
		base, _, err := c.ports.Queries.LoadQuery(ctx, q.Base)
		if errors.Is(err, messages.ErrNotFound) {
			return nil, fmt.Errorf("query %s, which %s goes on from: %w", q.Base, q.ID, err)
		}
		if err != nil {
			return nil, err
		}
		one, err := c.whole(ctx, base)
		if err != nil {
			return nil, err
		}
		runs = append(runs, *one)
		q = base
	}
	slices.Reverse(runs)
	return runs, nil
}

// columnsOf gives the columns of all runs: a column stays where it is when others come.
func columnsOf(runs []run) []string {
	var columns []string
	known := map[string]bool{}
	for _, r := range runs {
		for _, name := range r.survey.Columns {
			if !known[name] {
				known[name] = true
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// rowsOf counts the rows of each run.
func rowsOf(runs []run) []int64 {
	if len(runs) == 1 {
		return nil
	}
	rows := make([]int64, len(runs))
	for i, r := range runs {
		rows[i] = r.survey.Progress.Rows
	}
	return rows
}

// lost is what was found damaged of a run.
type lost struct {
	query     *messages.Query
	positions []messages.Position
}

// allChunks yields the rows of all runs.
func (c *Coordinator) allChunks(ctx context.Context, runs []run, damaged *[]lost) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, r := range runs {
			var positions []messages.Position
			over := false
			for rows, err := range firstRows(c.chunks(ctx, r.query, r.survey, &positions), r.query.MaxRows) {
				if !yield(rows, err) {
					over = true
					break
				}
			}
			if len(positions) > 0 {
				*damaged = append(*damaged, lost{r.query, positions})
			}
			if over {
				return
			}
		}
	}
}

// reopenAll makes pending again what was lost of several queries.
func (c *Coordinator) reopenAll(ctx context.Context, damaged []lost) error {
	var errs []error
	for _, l := range damaged {
		errs = append(errs, c.reopen(ctx, l.query, l.positions))
	}
	return errors.Join(errs...)
}

// checkNeeded refuses to remove a query that another one goes on from.
func (c *Coordinator) checkNeeded(ctx context.Context, q *messages.Query) error {
	if q.Lineage == "" {
		return nil
	}
	all, err := c.ports.Catalogue.ListQueries(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Base == q.ID {
			return fmt.Errorf("remove %s: %w: query %s goes on from it, and its table is made of both; remove that one first", q.ID, query.ErrState, other.ID)
		}
	}
	return nil
}

// cover adds what came of the values in the runs that a query goes on from.
func cover(own, before *messages.Coverage) *messages.Coverage {
	type asked struct{ parameter, value string }
	known := make(map[asked]messages.Covered, len(before.Values))
	for _, v := range before.Values {
		known[asked{v.Parameter, v.Value}] = v
	}
	for i := range own.Values {
		v := &own.Values[i]
		was, found := known[asked{v.Parameter, v.Value}]
		if !found {
			continue
		}
		v.Rows += was.Rows
		switch {
		case v.State == messages.NotFetched && v.Rows > 0:
			v.State = messages.CoveredPartly
		case v.State == messages.SaidEmpty, v.State == messages.CoverageUnclear && was.State == messages.CoveredWhole:
			v.State = was.State
		}
	}
	return own
}

// narrowedSpec plans a spec again that was narrowed.
func (c *Coordinator) narrowedSpec(to *onFrom, definition *service.Definition, now time.Time) (*pinned, error) {
	p, err := prepare(to.spec, definition, c.ports.Adapters, now)
	if err != nil && !errors.Is(err, query.ErrInvalid) {
		err = fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	return p, err
}
