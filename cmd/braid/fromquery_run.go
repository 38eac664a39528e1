package main

import (
	"context"
	"errors"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// runSource runs the query that feeds a condition to its end, or goes on with what there is of it. Its table is written nowhere.
func (w *feeding) runSource(ctx context.Context, f *feed, unfinished *messages.Status) (*messages.Status, error) {
	a, source := w.app, f.source
	if !a.isQuiet() {
		a.line("first", "%s, whose column %s gives the values of %s", source.query.File, f.column(), f.condition.Parameter)
	}
	for _, note := range source.resolved.Notes {
		a.line("note", "%s: %s", source.query.File, note)
	}
	q, err := w.begin(ctx, source, unfinished)
	if err != nil {
		return nil, source.place(err)
	}
	a.announce(q)
	status, err := a.settle(ctx, w.session, q)
	if err != nil {
		return nil, err
	}
	if status.Query.State == messages.Complete {
		return status, nil
	}
	if ctx.Err() != nil && w.session.embedded == nil {
		a.line("detached", "the query of %s goes on on the server; %s is not begun", source.query.File, w.outer.query.File)
		a.line("continue", "%s", w.outer.command)
		return nil, &exitError{code: exitInterrupted, err: context.Canceled, said: true}
	}
	err = a.notComplete(status, ctx.Err() != nil)
	a.line("then", "%s", w.outer.command)
	return nil, err
}

// begin submits the query, or goes on with what there is of it.
func (w *feeding) begin(ctx context.Context, source *prepared, unfinished *messages.Status) (*messages.Query, error) {
	if unfinished == nil {
		return w.session.Submit(ctx, source.spec)
	}
	q := unfinished.Query
	if (q.State.Active() || q.ResumesByItself()) && !w.outer.wait {
		return q, nil // who runs it goes on
	}
	upTo := time.Duration(source.spec.Run.OnQuota.WaitUpTo)
	resumed, err := w.session.Resume(ctx, q.ID, &query.Resumption{WaitUpTo: &upTo})
	switch {
	case errors.Is(err, query.ErrFingerprint): // another version of Braid began it, and this one cannot go on
		return w.session.Submit(ctx, source.spec)
	case errors.Is(err, query.ErrState): // it has become complete meanwhile
		return q, nil
	}
	return resumed, err
}

// oneProblem is a problem as an error, for problems.take.
func oneProblem(problem *strictyaml.Error) error { return strictyaml.Errors{problem} }

// isProblem tells whether err is oneProblem, and not the end of a command.
func isProblem(err error) bool {
	_, is := err.(strictyaml.Errors) //nolint:errorlint // what wraps problems has told what else they mean
	return is
}
