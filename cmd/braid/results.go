package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

type writer = io.Writer

func (a *app) resultsCommand() *cobra.Command {
	var out []string
	var format string
	var partial, finalName bool
	cmd := &cobra.Command{
		Use: "results [ID] -o FILE", Short: "Write a query's table again, in any format, without any request",
		Example: `  braid results k7f2c3aa -o daily-flow.parquet
  braid results -o - --format csv | head
  braid results k7f2c3aa --partial -o so-far.csv`,
		Long: `Writes the table of a complete query, or with --partial what there is of another one.

A partial table goes to NAME.partial.ENDING when its name would be that of the query's own output; --final-name writes it
there all the same. Parquet and arrow files are marked as partial inside too.

` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(out) == 0:
				return usage("name a file with -o FILE, or -o - --format csv for stdout")
			case finalName && !partial:
				return usage("--final-name is for a table that is partial; say --partial, or leave it out")
			}
			targets, err := a.parseTargets(out, format)
			if err != nil {
				return err
			}
			return a.within(cmd.Context(), 0, func(s *session) error {
				return a.results(cmd.Context(), s, first(args), targets, partial, finalName)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&out, "output", "o", nil, "file to write; - is stdout; may be given several times")
	flags.StringVar(&format, "format", "", "format of the output: parquet, csv, jsonl, arrow, geojson (default: by the file's ending)")
	a.emptyFlagOn(flags)
	a.tableOnlyFlagOn(flags)
	a.postgresFlagsOn(flags)
	flags.BoolVar(&partial, "partial", false, "of a query that is not complete, write what there is")
	flags.BoolVar(&finalName, "final-name", false, "write a partial table under the name of the finished one")
	settings.OnlyFlags(flags, "partial", "final-name")
	return cmd
}

func (a *app) tableOnlyFlagOn(flags *pflag.FlagSet) {
	flags.BoolVar(&a.tableOnly, "table-only", false, "write no coverage and no manifest beside the table")
}

func (a *app) results(ctx context.Context, s *session, id string, targets []target, partial, finalName bool) error {
	status, err := s.Status(ctx, id)
	if err != nil {
		return err
	}
	if partial && !finalName && status.Query.State != messages.Complete {
		a.renamePartial(status.Query, targets)
	}
	for _, t := range targets {
		if err := a.checkBeside(t, targets, nil); err != nil {
			return err
		}
	}
	outputs, err := a.write(ctx, s, status.Query.ID, targets, partial)
	if err != nil && len(outputs) == 0 {
		return err
	}
	proof, proofErr := a.prove(ctx, s, status.Query.ID, outputs)
	return errors.Join(err, proofErr, a.exported(status, outputs, proof))
}

// renamePartial keeps a table that rows are missing from away from the names of finished ones.
func (a *app) renamePartial(q *messages.Query, targets []target) {
	own := map[string]bool{}
	for _, t := range a.savedTargets(q) {
		own[nameOfTable(t.path)] = true
	}
	for i := range targets {
		t := &targets[i]
		if t.path == "-" {
			continue
		}
		path, err := t.path, error(nil)
		if !t.isPostgres() {
			path, err = filepath.Abs(t.path)
		}
		if err != nil || own[nameOfTable(path)] {
			t.path = partialName(t.path)
			a.line("note", "the table is partial: it goes to %s; --final-name writes it under the name of the finished one", t.path)
		}
	}
}

func (a *app) parseTargets(out []string, format string) ([]target, error) {
	if err := a.checkOut(out, format); err != nil {
		return nil, err
	}
	var targets []target
	for _, path := range out {
		t := a.flagTarget(path, format)
		if err := t.check(); err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// nameOfTable is what tables in several formats have in common, and what stands beside them.
func nameOfTable(path string) string {
	if _, is, _ := query.ParsePostgres(path); is {
		return path
	}
	return stemOf(path)
}
