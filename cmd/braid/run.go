package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// target is where a table is to go.
type target struct {
	path    string // - is standard output
	format  output.Format
	replace bool
}

func (a *app) runCommand() *cobra.Command {
	var out []string
	var format string
	var wait bool
	cmd := &cobra.Command{
		Use:   "run QUERY.yaml",
		Short: "Plan a query, run it and write its table",
		Long: `Plans the query, runs it with progress on stderr, and writes its table.

What is complete is kept in the data directory at once. When the quota is used up or the service is down, the command
ends with exit code 75 and prints the command that goes on; --wait waits it out instead.

` + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, spec, err := a.readQuery(args[0])
			if err != nil {
				return err
			}
			targets, err := a.targets(q, args[0], out, format)
			if err != nil {
				return err
			}
			if err := a.checkEmbedded(); err != nil {
				return err
			}
			if a.embedded.inFlight > 0 {
				spec.Run.InFlight = a.embedded.inFlight
			}
			if wait {
				spec.Run.OnQuota.WaitUpTo = query.Duration(forever)
			}
			return a.runQuery(cmd.Context(), spec, targets)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&out, "output", "o", nil, "file to write, in place of one that is there, instead of the query's own outputs; - is stdout; may be given several times")
	flags.StringVar(&format, "format", "", "format of the output: csv, jsonl, parquet (default: by the file's ending)")
	flags.BoolVar(&wait, "wait", false, "wait out quota pauses and interruptions")
	a.embeddedFlagsOn(flags)
	return cmd
}

const forever = time.Duration(math.MaxInt64 / 4)

// readQuery reads a query file and the value files it names.
func (a *app) readQuery(path string) (*query.Query, *query.Spec, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, nil, usage("query file: %w", err)
	}
	q, err := query.Parse(path, data)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Dir(path)
	values, notes, err := q.Resolve(func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return readFile(name)
	}, time.Now())
	if err != nil {
		return nil, nil, usage("%s: %w", path, err)
	}
	for _, note := range notes {
		a.line("note", "%s", note)
	}
	spec := q.Spec(values)
	return q, spec, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	if info.Size() > query.MaxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d", path, info.Size(), query.MaxFileBytes)
	}
	return os.ReadFile(path)
}

// targets finds out before anything is sent where the table is to go, and whether it can.
func (a *app) targets(q *query.Query, file string, out []string, format string) ([]target, error) {
	var targets []target
	for _, path := range out {
		targets = append(targets, target{path: path, format: output.Format(format), replace: true})
	}
	if len(out) == 0 {
		for _, o := range q.Outputs {
			path := o.To
			if path != "-" && !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(file), path)
			}
			targets = append(targets, target{path: path, format: output.Format(o.Format), replace: o.IfExists == query.IfExistsReplace})
		}
	}
	for i := range targets {
		if err := targets[i].check(); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

func (t *target) check() error {
	if t.path == "-" && t.format == "" {
		return usage("-o - needs --format: csv, jsonl or parquet")
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

func (a *app) runQuery(ctx context.Context, spec *query.Spec, targets []target) error {
	started := time.Now()
	return a.within(ctx, a.embedded.workers, func(s *session) error {
		q, err := s.Submit(ctx, spec)
		if err != nil {
			return err
		}
		a.saveTargets(q.ID, targets)
		a.announce(q)
		return a.bringHome(ctx, s, q, targets, started)
	})
}

func (a *app) announce(q *messages.Query) {
	if a.progress != "quiet" && a.progress != "json" {
		a.line("query", "%s  ·  %s %s  ·  %s chunks", q.ID, q.Service, q.Collection, thousands(int64(q.Chunks)))
	}
}

// bringHome follows a query to its end and writes its table.
func (a *app) bringHome(ctx context.Context, s *session, q *messages.Query, targets []target, started time.Time) error {
	var status *messages.Status
	err := s.working(ctx, func(ctx context.Context) error {
		var err error
		status, err = s.follow(ctx, q.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\ncompleted work is kept; to go on: %s", err, a.resumeHint(q, false))
	}
	// The workers have finished what they had in hand meanwhile: the stream has the last word.
	if err := s.survey(context.WithoutCancel(ctx), status); err != nil {
		return err
	}
	if status.Query.State != messages.Complete {
		if ctx.Err() != nil && s.embedded == nil {
			a.line("detached", "the query goes on on the server; no file is written")
			a.line("continue", "braid results %s -o FILE --server %s", q.ID, a.server)
			return &exitError{code: exitInterrupted, err: context.Canceled, said: true}
		}
		return a.notComplete(status)
	}
	if len(targets) > 0 && a.progress != "quiet" && a.progress != "json" {
		a.line("writing", "the table, from %s chunks", thousands(int64(status.Query.Chunks)))
	}
	outputs, err := a.write(ctx, s, q.ID, targets, false)
	if err != nil {
		return fmt.Errorf("%w\nthe query is complete and kept; to write its table: %s", err, a.exportHint(q.ID))
	}
	return a.complete(status, outputs, time.Since(started))
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
	o := written{Path: t.path}
	if t.path == "-" {
		report, err := s.Table(ctx, id, string(t.format), partial, a.stdout)
		o.Report = report
		return o, err
	}
	var tableErr error
	var file fileWriter
	size, err := output.Save(t.path, func(w writer) error {
		file.to = w
		o.Report, tableErr = s.Table(ctx, id, string(t.format), partial, &file)
		return tableErr
	})
	o.Bytes = size
	if tableErr != nil && !file.failed {
		return o, tableErr // it is the table that failed, and not the file
	}
	return o, err
}

// fileWriter notices that it is the file that cannot take what is written, as when the disk is full.
type fileWriter struct {
	to     writer
	failed bool
}

// Write is io.Writer's.
func (f *fileWriter) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	f.failed = f.failed || err != nil
	return n, err
}
