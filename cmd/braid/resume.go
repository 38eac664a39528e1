package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/output/postgres"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func (a *app) resumeCommand() *cobra.Command {
	how := &goOn{again: func(ctx context.Context, s *session, id string, again *query.Resumption) (*messages.Query, error) {
		return s.Resume(ctx, id, again)
	}}
	cmd := &cobra.Command{
		Use: "resume [ID]",
		Example: `  braid resume
  braid resume k7f2c3aa --wait`,
		Short: "Go on with a query: run what has no result, and write its table",
		Long: `Goes on with a query that was interrupted, or with the newest one. What is complete is not asked for again.

` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.goOn(cmd, first(args), how) },
	}
	a.goOnFlagsOn(cmd, how)
	return cmd
}

// goOn is how a query that stopped is run further.
type goOn struct {
	out    []string
	format string
	wait   bool
	again  func(ctx context.Context, s *session, id string, again *query.Resumption) (*messages.Query, error)

	spend spending
}

func (a *app) goOnFlagsOn(cmd *cobra.Command, how *goOn) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&how.out, "output", "o", nil, "file to write; - is stdout; may be given several times")
	flags.StringVar(&how.format, "format", "", "format of the output: parquet, csv, jsonl, arrow, geojson (default: by the file's ending)")
	a.emptyFlagOn(flags)
	a.tableOnlyFlagOn(flags)
	a.postgresFlagsOn(flags)
	how.spend.flags(flags, "a new budget of requests, after which the query stops (default: one of the old size, if there was one)")
	flags.BoolVar(&how.wait, "wait", false, "wait out quota pauses and interruptions")
	a.embeddedFlagsOn(flags)
}

func (a *app) goOn(cmd *cobra.Command, id string, how *goOn) error {
	targets, err := a.parseTargets(how.out, how.format)
	if err != nil {
		return err
	}
	if err := a.checkEmbedded(); err != nil {
		return err
	}
	if a.origins["service-url"] == settings.FromFlag {
		a.line("note", "--service-url is not used: a query keeps the address that it was begun with")
	}
	again, err := how.spend.given(a, false)
	if err != nil {
		return err
	}
	again.WaitUpTo = new(time.Duration)
	if a.waits = how.wait; how.wait {
		*again.WaitUpTo = forever
	}
	return a.resume(cmd.Context(), id, targets, how, again)
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (a *app) resume(ctx context.Context, id string, targets []target, how *goOn, again *query.Resumption) error {
	started := time.Now()
	return a.withinUp(ctx, a.embedded.workers, func(s *session) error {
		status, err := s.unfinished(ctx, id)
		if err != nil {
			return err
		}
		if len(targets) > 0 {
			a.saveTargets(status.Query.ID, targets)
		} else {
			targets = a.savedTargets(status.Query)
		}
		if status.Query.State == messages.Complete {
			a.line("complete", "query %s has nothing left to run", status.Query.ID)
			if err := a.mayWrite(targets); err != nil {
				return err
			}
			outputs, err := a.write(ctx, s, status.Query.ID, targets, false)
			if err != nil && len(outputs) == 0 {
				return err
			}
			proof, proofErr := a.prove(ctx, s, status.Query.ID, outputs)
			return errors.Join(err, proofErr, a.complete(status, outputs, proof, time.Since(started)))
		}
		if err := a.mayWrite(targets); err != nil {
			return err
		}
		if err := a.askPostgres(ctx, targets, postgres.Expected{}); err != nil {
			return err
		}
		a.askAgain(again, status.Query)
		q, err := how.again(ctx, s, status.Query.ID, again)
		if err != nil {
			return err
		}
		a.announce(q)
		return a.bringHome(ctx, s, q, targets, started)
	})
}

// unfinished gives the query with this id; without one the newest that is not complete, else the newest.
func (s *session) unfinished(ctx context.Context, id string) (*messages.Status, error) {
	if id == "" {
		all, err := s.Statuses(ctx)
		if err != nil {
			return nil, err
		}
		for _, status := range all {
			if status.Query.State != messages.Complete {
				return status, nil
			}
		}
	}
	return s.Status(ctx, id)
}
