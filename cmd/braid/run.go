package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// target is where a table is to go.
type target struct {
	path    string // - is standard output; postgres:[SCHEMA.]TABLE is a table of a database
	format  output.Format
	replace bool
	into    intoPostgres
}

func (a *app) runCommand() *cobra.Command {
	k := new(asked)
	cmd := &cobra.Command{
		Use: "run [QUERY.yaml]",
		Example: `  braid run daily-flow.yaml
  braid run daily-flow.yaml --wait -o flow.parquet -o flow.csv
  braid run --service usgs-waterdata --collection daily \
    --sites sites.csv --set parameter_code=00060 \
    --set time=2020-01-01/2020-12-31 \
    -o flow.parquet --save-query flow.yaml`,
		Short: "Plan a query, run it and write its table",
		Long: `Plans the query, runs it with progress on stderr, and writes its table.

What is complete is kept in the data directory at once. When the quota is used up or the service is down, the command
ends with exit code 75 and prints the command that goes on; --wait waits it out instead.

` + givenHelp + `
` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.prepare(cmd, args, k)
			if err != nil {
				return err
			}
			if err := a.checkEmbedded(); err != nil {
				return err
			}
			if err := a.notBesideUp(cmd.Context(), p); err != nil {
				return err
			}
			if err := a.askPostgres(cmd.Context(), p.targets, p.expected(cmd.Context())); err != nil {
				return err
			}
			if err := a.saveGiven(k, p); err != nil {
				return err
			}
			if err := a.askSpec(k, p); err != nil {
				return err
			}
			return a.runQuery(cmd.Context(), p)
		},
	}
	k.flags(a, cmd)
	a.emptyFlagOn(cmd.Flags())
	cmd.Flags().BoolVar(&k.wait, "wait", false, "wait out quota pauses and interruptions")
	a.embeddedFlagsOn(cmd.Flags())
	return cmd
}

// saveGiven writes the query file that was asked for with --save-query.
func (a *app) saveGiven(k *asked, p *prepared) error {
	if k.given.save == "" {
		return nil
	}
	if err := k.given.saveQuery(p.query, p.targets); err != nil {
		return err
	}
	a.line("saved", "%s; braid run %s runs it again", k.given.save, quoteArg(k.given.save))
	return nil
}

// forever is how long --wait waits for a quota or a service without anything that completes: longer than any window, and short
// enough for a query that nobody comes back to.
const forever = 30 * 24 * time.Hour

// targets finds out before anything is sent where the table is to go, and whether it can.
func (a *app) targets(q *query.Query, out []string, format string, found *problems) []target {
	var targets []target
	var places []query.Place
	for _, path := range out {
		targets = append(targets, a.flagTarget(path, format))
		places = append(places, query.Place{File: outFlag(path)})
	}
	if len(out) == 0 {
		for i, o := range q.Outputs {
			if _, is, err := query.ParsePostgres(o.To); is {
				if err != nil || query.CheckConnection(o.Connection) != nil {
					continue // told already
				}
				targets = append(targets, target{path: o.To, into: intoPostgres{o.IfExists, o.Connection}})
				places = append(places, outputPlace(q, i))
				continue
			}
			if o.To == "" || o.Format == "" {
				continue // told already
			}
			path := o.To
			if path != "-" && !filepath.IsAbs(path) && q.File != "" {
				path = filepath.Join(filepath.Dir(q.File), path)
			}
			targets = append(targets, target{path: path, format: output.Format(o.Format), replace: o.IfExists == query.IfExistsReplace})
			places = append(places, outputPlace(q, i))
		}
	}
	for i := range targets {
		err := targets[i].check()
		if err == nil {
			err = a.checkBeside(targets[i], targets, inputsOf(q))
		}
		if err != nil {
			found.add(places[i].Problem("%s", strings.TrimPrefix(err.Error(), output.ErrTarget.Error()+": ")))
		}
		for _, before := range targets[:i] {
			if samePath(before.path, targets[i].path) && before.into.connection == targets[i].into.connection {
				found.add(places[i].Problem("%s is written twice; name another file", before.path))
			}
		}
	}
	return targets
}

// inputsOf are the files that a query is read from.
func inputsOf(q *query.Query) []string {
	if q.File == "" {
		return nil
	}
	inputs := []string{q.File}
	for _, condition := range q.Where {
		for _, path := range condition.Source.Paths() {
			if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(q.File), path)
			}
			inputs = append(inputs, path)
		}
	}
	return inputs
}

func outputPlace(q *query.Query, i int) query.Place {
	if place := q.PlaceOf(fmt.Sprintf("output[%d]", i)); place.Line > 1 {
		return place
	}
	return q.PlaceOf("output")
}

func (t *target) check() error {
	if t.isPostgres() {
		return t.checkPostgres()
	}
	if t.path == "-" && t.format == "" {
		return usage("-o - needs --format: parquet, csv, jsonl, arrow or geojson")
	}
	var err error
	if t.format, err = output.FormatOf(t.path, string(t.format)); err != nil {
		return err
	}
	if t.path == "-" {
		return nil
	}
	if named, err := output.FormatOf(t.path, ""); err == nil && named != t.format {
		return usage("%s ends like %s, and the format asked for is %s; change one of them", t.path, named, t.format)
	}
	if err := output.CheckTarget(t.path); err != nil {
		return usage("%w", err)
	}
	if _, err := os.Stat(t.path); err == nil && !t.replace {
		return usage("%s exists; name another file with -o, or write `if_exists: replace` in the query", t.path)
	}
	return nil
}

// notBesideUp refuses to run a query in this process where a braid up has the data directory, and gives the command that asks it.
func (a *app) notBesideUp(ctx context.Context, p *prepared) error {
	if a.server != "" {
		return nil
	}
	client, url := a.serverHere(ctx)
	if client == nil {
		return nil
	}
	submit := "braid submit --watch" + a.whereHint() + " with the same flags"
	if file := p.query.File; file != "" {
		submit = "braid submit " + quoteArg(file) + " --watch" + a.whereHint()
	}
	return fmt.Errorf("%w: the braid up that serves %s runs its queries\nto give it this one: %s; with another --data-dir this runs beside it", bus.ErrDirInUse, url, submit)
}

func (a *app) runQuery(ctx context.Context, p *prepared) error {
	return a.within(ctx, a.embedded.workers, func(s *session) error {
		if err := a.feed(ctx, s, p); err != nil {
			return err
		}
		started := time.Now()
		a.noteTwin(ctx, s, p)
		q, err := s.Submit(ctx, p.spec)
		if err != nil {
			return p.place(err)
		}
		a.saveTargets(q.ID, p.targets)
		a.announce(q)
		return a.bringHome(ctx, s, q, p.targets, started)
	})
}

// askFull makes a run of a query with since one that goes on from no other.
func (k *asked) askFull(spec *query.Spec) error {
	switch {
	case !k.full:
	case spec.Since == nil:
		return usage("--full is for a query with since; any other asks for all anyway")
	default:
		since := *spec.Since
		since.Full = true
		spec.Since = &since
	}
	return nil
}

func (a *app) announce(q *messages.Query) {
	if !a.isQuiet() {
		a.line("query", "%s  ·  %s %s  ·  %s", q.ID, q.Service, q.Collection, count(int64(q.Chunks), "chunk"))
		switch {
		case q.Base == "" && q.Lineage != "":
			a.line("since", "there is no earlier run that this query can go on from: it asks for all")
		case q.Base != "":
			a.line("since", "goes on from query %s, whose newest row is of %s; --full asks for all once more", q.Base, q.Mark.Format(time.RFC3339))
		}
	}
}

// isQuiet tells whether only what a person has to know is told.
func (a *app) isQuiet() bool { return a.progress == "quiet" || a.progress == "json" }

// settle follows a query to its end, and says how it stands then.
func (a *app) settle(ctx context.Context, s *session, q *messages.Query) (*messages.Status, error) {
	var status *messages.Status
	err := s.working(ctx, func(ctx context.Context) error {
		var err error
		status, err = s.follow(ctx, q.ID)
		return err
	})
	if errors.Is(err, messages.ErrStoreFull) {
		err = s.full(ctx, q, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\ncompleted work is kept; to go on: %s", err, a.resumeHint(q, false))
	}
	if status == nil { // a server's, of which nothing was heard
		status = &messages.Status{Query: q, Progress: new(messages.Progress)}
	}
	// The workers have finished what they had in hand meanwhile: the stream has the last word.
	return status, s.recount(context.WithoutCancel(ctx), status)
}

// bringHome follows a query to its end and writes its table.
func (a *app) bringHome(ctx context.Context, s *session, q *messages.Query, targets []target, started time.Time) error {
	a.following = q.ID
	status, err := a.settle(ctx, s, q)
	if err != nil {
		return err
	}
	if status.Query.State != messages.Complete {
		if ctx.Err() != nil && s.embedded == nil {
			a.line("detached", "the query goes on on the server; no file is written")
			a.line("continue", "braid watch %s%s; then %s", q.ID, a.whereHint(), a.exportHint(q.ID))
			return &exitError{code: exitInterrupted, err: context.Canceled, said: true}
		}
		return a.notComplete(status, ctx.Err() != nil)
	}
	if len(targets) > 0 && !a.isQuiet() {
		a.line("writing", "the table, from %s", count(int64(status.Query.Chunks), "chunk"))
	}
	outputs, err := a.write(ctx, s, q.ID, targets, false)
	took := time.Since(started)
	if err != nil {
		err = fmt.Errorf("%w\nthe query is complete and kept; to write its table: %s", err, a.writeHint(q.ID, err))
		if len(outputs) == 0 {
			return err
		}
	}
	proof, proofErr := a.prove(ctx, s, q.ID, outputs)
	return errors.Join(err, proofErr, a.complete(status, outputs, proof, took))
}

// write brings a query's table to its targets.
func (a *app) write(ctx context.Context, s *session, id string, targets []target, partial bool) ([]written, error) {
	var outputs []written
	var errs []error
	for _, t := range targets {
		o, err := a.writeOne(ctx, s, id, t, partial)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		outputs = append(outputs, o)
	}
	return outputs, errors.Join(errs...)
}

func (a *app) writeOne(ctx context.Context, s *session, id string, t target, partial bool) (written, error) {
	if t.isPostgres() {
		return a.writePostgres(ctx, s, id, t, partial)
	}
	o := written{Path: t.path, Format: string(t.format)}
	if t.path == "-" {
		report, err := s.Table(ctx, id, string(t.format), partial, a.stdout)
		o.Report = report
		return o, err
	}
	var tableErr error
	file := fileWriter{sum: sha256.New()}
	size, err := output.Save(t.path, func(w writer) error {
		file.to = w
		o.Report, tableErr = s.Table(ctx, id, string(t.format), partial, &file)
		return tableErr
	})
	o.Bytes, o.SHA256 = size, hex.EncodeToString(file.sum.Sum(nil))
	if tableErr != nil && !file.failed {
		return o, tableErr // it is the table that failed, and not the file
	}
	return o, err
}

// fileWriter digests what is written, and notices that it is the file that cannot take it, as when the disk is full.
type fileWriter struct {
	to     writer
	sum    hash.Hash
	failed bool
}

// Write is io.Writer's.
func (f *fileWriter) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	f.sum.Write(p[:n])
	f.failed = f.failed || err != nil
	return n, err
}
