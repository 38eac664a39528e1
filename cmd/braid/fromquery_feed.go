package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// feeding brings a query the values that other queries hold. Those that are not complete are run first, one after another.
type feeding struct {
	app     *app
	session *session // nil: nothing is stored
	run     bool     // false: nothing may be sent
	outer   *prepared
	fed     map[*prepared]bool // they have their values
	done    map[*prepared]*messages.Status
}

func (a *app) newFeeding(p *prepared) *feeding {
	return &feeding{app: a, outer: p, fed: map[*prepared]bool{}, done: map[*prepared]*messages.Status{}}
}

// feed gives a query the values of its conditions that come from other queries, and checks it with them. It runs what has not been
// run; how such a query ended is told, and then the error has its exit code.
func (a *app) feed(ctx context.Context, s *session, p *prepared) error {
	w := a.newFeeding(p)
	w.session, w.run = s, true
	return w.feed(ctx)
}

// feedPlan is feed for a plan: what has not been run is a problem, and nothing is sent.
func (a *app) feedPlan(ctx context.Context, p *prepared) error {
	if len(p.feeds) == 0 {
		return nil
	}
	w := a.newFeeding(p)
	if _, err := os.Stat(a.dataDir); a.server == "" && errors.Is(err, fs.ErrNotExist) {
		return w.feed(ctx) // a plan makes no data directory
	}
	return a.within(ctx, 0, func(s *session) error {
		w.session = s
		return w.feed(ctx)
	})
}

func (w *feeding) feed(ctx context.Context) error {
	if len(w.outer.feeds) == 0 {
		return nil
	}
	found := new(problems)
	if err := w.readStored(ctx, w.outer, map[*prepared]bool{}, found); err != nil {
		return err
	}
	if err := found.err(); err != nil {
		return err
	}
	known := slices.Clone(w.outer.resolved.Notes)
	if err := w.supply(ctx, w.outer); err != nil {
		return err
	}
	for _, note := range w.outer.resolved.Notes {
		if !slices.Contains(known, note) {
			w.app.line("note", "%s", note)
		}
	}
	return nil
}

// unreadyError reports values that are not there yet, where nothing may be sent.
type unreadyError struct{ error }

// Unwrap gives the problems.
func (e *unreadyError) Unwrap() error { return e.error }

// readStored reads the columns of stored queries that are named by their ids, of p and of all that feeds it, before anything is
// run.
func (w *feeding) readStored(ctx context.Context, p *prepared, seen map[*prepared]bool, found *problems) error {
	if seen[p] {
		return nil
	}
	seen[p] = true
	for _, f := range p.feeds {
		if f.source != nil {
			if err := w.readStored(ctx, f.source, seen, found); err != nil {
				return err
			}
			continue
		}
		status, err := w.byID(ctx, f)
		if err == nil {
			err = w.read(ctx, f, status)
		}
		if err := found.take(err); err != nil {
			return err
		}
	}
	return nil
}

// byID finds the complete query that a condition names. What is wrong with it is a problem at the condition.
func (w *feeding) byID(ctx context.Context, f *feed) (*messages.Status, error) {
	place := f.condition.PlaceOfQuery()
	const files = "; the name of a query file has an ending, such as .yaml"
	if w.session == nil {
		return nil, oneProblem(place.Problem("there is no query %s%s", f.name(), files))
	}
	status, err := w.session.Status(ctx, f.name())
	switch {
	case errors.Is(err, messages.ErrNotFound):
		return nil, oneProblem(place.Problem("%s%s", err, files))
	case errors.Is(err, query.ErrAmbiguous):
		return nil, oneProblem(place.Problem("%s", err))
	case err != nil:
		return nil, err
	case status.Query.State != messages.Complete:
		return nil, oneProblem(place.Problem("the query %s, and only the rows of a complete one are used%s", standing(status.Query.State), w.how(status.Query)))
	}
	return status, nil
}

// how is what a person does so that a query becomes complete.
func (w *feeding) how(q *messages.Query) string {
	if q.State.Active() || q.ResumesByItself() {
		return "; see how it goes on: braid status " + q.ID + w.app.whereHint()
	}
	return "; do: " + w.app.resumeHint(q, false)
}

// supply brings p its values, and checks it with them.
func (w *feeding) supply(ctx context.Context, p *prepared) error {
	if w.fed[p] {
		return nil
	}
	found, unready := new(problems), false
	for _, f := range p.feeds {
		if f.values != nil {
			continue
		}
		status, err := w.complete(ctx, f)
		if err == nil {
			err = w.read(ctx, f, status)
		}
		_, waits := errors.AsType[*unreadyError](err)
		unready = unready || waits
		if waits || isProblem(err) {
			err = found.take(err)
		}
		if err != nil {
			return err
		}
	}
	nothing := "; nothing of " + p.query.File + " was sent"
	if unready {
		return &unreadyError{found.told(nothing)}
	}
	if err := found.told(nothing); err != nil {
		return err
	}
	for _, f := range p.feeds {
		p.resolved.Supply(f.condition, f.values, f.from)
	}
	w.fed[p] = true
	p.spec.Values = p.resolved.Values
	if p.collection != nil {
		found.add(p.query.Check(p.collection, p.resolved)...)
	}
	if err := found.told(nothing); err != nil {
		return err
	}
	if err := p.spec.Validate(); err != nil {
		return p.placeSpec(err)
	}
	return nil
}

// complete gives the complete query that feeds a condition; it is run when it is not there.
func (w *feeding) complete(ctx context.Context, f *feed) (*messages.Status, error) {
	source := f.source
	if status, done := w.done[source]; done {
		return status, nil
	}
	err := w.supply(ctx, source)
	if _, waits := errors.AsType[*unreadyError](err); waits {
		return nil, w.unready(f, nil)
	}
	if err != nil {
		return nil, err
	}
	w.app.askStanding(source.spec)
	if w.outer.wait {
		source.spec.Run.OnQuota.WaitUpTo = query.Duration(forever)
	}
	plan, err := w.plan(ctx, source.spec)
	if err != nil {
		return nil, source.place(err)
	}
	if err := w.askForColumn(ctx, f, plan.Definition); err != nil {
		return nil, err
	}
	status, err := w.stored(ctx, source, plan.Definition)
	switch {
	case err != nil:
		return nil, err
	case status != nil && status.Query.State == messages.Complete:
	case !w.run:
		return nil, w.unready(f, status)
	default:
		if status, err = w.runSource(ctx, f, status); err != nil {
			return nil, err
		}
	}
	w.done[source] = status
	return status, nil
}

// unready is the problem of values that only a run can bring.
func (w *feeding) unready(f *feed, status *messages.Status) error {
	place, file := f.condition.PlaceOfQuery(), f.source.query.File
	if status != nil {
		return &unreadyError{oneProblem(place.Problem("values come from %s, whose query %s is %s%s", file, status.Query.ID, status.Query.State, w.how(status.Query)))}
	}
	command := w.app.runCommandLine(&prepared{query: f.source.query}, &asked{wait: w.outer.wait})
	return &unreadyError{oneProblem(place.Problem("values come from %s, which has not been run; do: %s", file, command))}
}

// plan checks a query completely, and gives the definition that it would have.
func (w *feeding) plan(ctx context.Context, spec *query.Spec) (*messages.PlanSummary, error) {
	if w.app.server == "" {
		return braid.Plan(w.app.planConfig(), spec)
	}
	return w.session.Plan(ctx, spec)
}

// askForColumn checks the column of a query whose definition is the server's to know: by the one at hand, if it is the same, and
// else the server is asked, which knows at least what cannot be.
func (w *feeding) askForColumn(ctx context.Context, f *feed, definition string) error {
	spec := *f.source.spec
	if f.source.collection != nil || len(spec.Select) > 0 {
		return nil // known, and checked
	}
	if c := w.collection(f.source, definition); c != nil {
		if problems := f.undeclared(c); len(problems) > 0 {
			return strictyaml.Errors(problems)
		}
		return nil
	}
	spec.Select = []string{f.column()}
	_, err := w.plan(ctx, &spec)
	if !errors.Is(err, query.ErrInvalid) {
		return err
	}
	return oneProblem(f.condition.PlaceOfColumn().Problem("%s: %s", f.source.query.File, strings.TrimPrefix(without(err, query.ErrInvalid), query.ErrInvalid.Error()+": ")))
}

// read reads the column of a complete query. What is wrong with it is a problem at the condition.
func (w *feeding) read(ctx context.Context, f *feed, status *messages.Status) error {
	q, place := status.Query, f.condition.PlaceOfColumn()
	column := query.NewColumnReader(f.column())
	report, err := w.session.Table(ctx, q.ID, "csv", false, column)
	if err == nil {
		f.values, err = column.Values()
	}
	switch {
	case errors.Is(err, query.ErrColumn):
		return oneProblem(place.Problem("%s: %s", f.name(), strings.TrimPrefix(without(err, query.ErrColumn), query.ErrColumn.Error()+": ")))
	case err != nil:
		return fmt.Errorf("read the column %s of the query %s: %w", f.column(), q.ID, err)
	}
	if err := w.hold(ctx, f, status, report); err != nil {
		return err
	}
	if len(f.values) == 0 {
		return oneProblem(place.Problem("the column %q of %s (query %s, %s) has no value, so that there is nothing to ask for",
			f.column(), f.name(), q.ID, count(report.Rows, "row")))
	}
	f.from = fmt.Sprintf("query %s (completed %s)", q.ID, moment(q.Updated))
	if f.source != nil {
		f.from = fmt.Sprintf("%s (query %s, completed %s)", f.source.query.File, q.ID, moment(q.Updated))
	}
	return nil
}

// hold refuses the table of a query that breaks a rule of its own: a run of that query ends with an error too.
func (w *feeding) hold(ctx context.Context, f *feed, status *messages.Status, report *frame.Report) error {
	a, q := w.app, status.Query
	var broken []string
	if q.Covered || q.Unchanged {
		coverage, err := w.session.Coverage(ctx, q.ID)
		if err != nil {
			return err
		}
		broken = a.verified(q, report, &proof{coverage: coverage})
	}
	if len(report.Bad) > 0 && !q.AllowBad {
		a.describe(report)
		broken = append(broken, "bad values")
	}
	if len(broken) == 0 {
		return nil
	}
	a.line("error", "%s (query %s) does not hold what its own rules ask: %s; %s is not run", f.name(), q.ID, strings.Join(broken, ", "), w.outer.query.File)
	if a.json {
		if err := a.printJSON(summary{MessageType: "summary", Query: q, Progress: status.Progress, Broken: broken}); err != nil {
			return err
		}
	}
	return &exitError{code: exitIncomplete, err: errors.New(strings.Join(broken, ", ")), said: true}
}
