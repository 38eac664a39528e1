package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/ledger"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
)

// ledgerFlags say where the ledger is.
type ledgerFlags struct{ connection, passwordFile string }

func (f *ledgerFlags) on(flags *pflag.FlagSet) {
	flags.StringVar(&f.connection, "ledger", "", "PostgreSQL in which the ledger is kept, such as postgres://braid@db/braid, without a password; the variable BRAID_LEDGER_URL may hold one (default: as that says, else there is no ledger)")
	flags.StringVar(&f.passwordFile, "ledger-password-file", "", "file of the ledger's password; it is read again at each connection")
}

// feeder gives the ledger that this process feeds, if one is set.
func (f *ledgerFlags) feeder(a *app, e *braid.Embedded) (ledger.Feeder, error) {
	feeder, err := ledger.FeederFor(f.connection, f.passwordFile, a.getenv, e.Journal(), e.Leads, a.log)
	if err != nil {
		return feeder, usage("%w", err)
	}
	if l := feeder.Ledger(); l != nil {
		a.telemetry.WatchLedger(func() braid.LedgerStanding {
			s := l.Standing()
			return braid.LedgerStanding{State: string(s.State), Stored: s.Stored, Unread: s.Unread, Behind: s.Behind, Missed: s.Missed}
		})
	}
	return feeder, nil
}

// database gives the one that is set; none is wrong use.
func (f *ledgerFlags) database(a *app) (ledger.Database, error) {
	d, set, err := ledger.FromSettings(f.connection, f.passwordFile, a.getenv)
	switch {
	case err != nil:
		return d, usage("%w", err)
	case !set:
		return d, usage("no ledger is set; give --ledger postgres://USER@HOST/DATABASE, or set %s", ledger.Variable)
	}
	return d, nil
}

func (a *app) ledgerCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "ledger", Short: "Make the ledger's tables, look into it, remove what is old",
		Long: `The ledger is the record of queries and load runs in PostgreSQL, for SQL. Coordinators that are started with --ledger, and braid up, feed
it; these commands speak to the database alone.`,
		Example: "  braid ledger status --ledger postgres://braid@db/braid",
	}
	group.AddCommand(a.ledgerMigrateCommand(), a.ledgerStatusCommand(), a.ledgerForgetCommand())
	return group
}

func (a *app) ledgerMigrateCommand() *cobra.Command {
	var f ledgerFlags
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the tables to what this build needs", Args: cobra.NoArgs,
		Long: `Makes the ledger's tables in the schema braid, or changes those of an earlier version; what is there stays. Whoever feeds the ledger does this by
itself when its user may: this is for an owner, where it may not.`,
		Example: "  braid ledger migrate --ledger postgres://owner@db/braid",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := f.database(a)
			if err != nil {
				return err
			}
			made := []ledger.Step{}
			if err := d.Migrate(cmd.Context(), func(s ledger.Step) { made = append(made, s) }); err != nil {
				return ledgerError(err)
			}
			if a.json {
				return a.printJSON(map[string]any{"steps": made})
			}
			for _, s := range made {
				a.line("made", "version %d, %s", s.Version, strings.ReplaceAll(s.Name, "_", " "))
			}
			if len(made) == 0 {
				a.line("ledger", "there is nothing to do")
			}
			return nil
		},
	}
	f.on(cmd.Flags())
	return cmd
}

func (a *app) ledgerStatusCommand() *cobra.Command {
	var f ledgerFlags
	cmd := &cobra.Command{
		Use: "status", Short: "Tell what is in the ledger, and whether it adds up", Args: cobra.NoArgs,
		Long: `Tells the version of the ledger's tables, how large they are, when an execution was stored last, what was rejected, and load runs whose totals are
not what their rows amount to: there must be none. How far the ledger is behind is in the metrics of the coordinator that feeds it.`,
		Example: "  braid ledger status --json | jq .version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := f.database(a)
			if err != nil {
				return err
			}
			o, err := d.Overview(cmd.Context())
			if err != nil {
				return ledgerError(err)
			}
			if a.json {
				err = a.printJSON(o)
			} else {
				err = a.printLedger(o)
			}
			if err == nil && len(o.Unequal) > 0 {
				err = &exitError{code: exitInternal, err: fmt.Errorf("the totals of %s are not what their rows amount to: %s", count(int64(len(o.Unequal)), "load run"), strings.Join(o.Unequal, ", "))}
			}
			return err
		},
	}
	f.on(cmd.Flags())
	return cmd
}

func (a *app) printLedger(o *ledger.Overview) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\nversion %d of %d\n", o.Where, o.Version, len(o.Steps))
	for _, t := range o.Tables {
		about := ""
		if t.Estimated {
			about = "about "
		}
		fmt.Fprintf(&out, "%-16s %18s rows %14s bytes\n", t.Name, about+thousands(t.Rows), thousands(t.Bytes))
	}
	if o.LastStored != nil {
		fmt.Fprintf(&out, "the last execution was stored at %s\n", o.LastStored.UTC().Format(time.RFC3339))
	}
	if o.Rejects > 0 {
		fmt.Fprintf(&out, "%s could not be kept: SELECT * FROM braid.rejects\n", count(o.Rejects, "record"))
	}
	_, err := fmt.Fprint(a.stdout, out.String())
	return err
}

func (a *app) ledgerForgetCommand() *cobra.Command {
	var f ledgerFlags
	var rows, samples settings.Age
	cmd := &cobra.Command{
		Use: "forget", Short: "Remove what is old from the ledger", Args: cobra.NoArgs,
		Long: `Removes load runs and queries that ended longer ago than --older-than, with all that belongs to them. --samples-older-than removes the samples of rows alone, which
hold business data, and leaves the executions as they are otherwise. What has not ended stays. It goes in small transactions: a stop loses nothing, and the next
call goes on.`,
		Example: "  braid ledger forget --older-than 365d --samples-older-than 14d",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rows == 0 && samples == 0 {
				return usage("say what is to be forgotten: --older-than 365d, --samples-older-than 14d, or both")
			}
			d, err := f.database(a)
			if err != nil {
				return err
			}
			gone, err := d.Forget(cmd.Context(), ledger.Age{Rows: time.Duration(rows), Samples: time.Duration(samples)}, time.Now())
			if a.json {
				err = errors.Join(ledgerError(err), a.printJSON(gone))
				return err
			}
			a.line("forgotten", "%s with %s, %s with %s, %s", count(gone.Runs, "load run"), count(gone.Executions, "execution"), count(gone.Queries, "query"), count(gone.Attempts, "attempt"), count(gone.Samples, "sample"))
			return ledgerError(err)
		},
	}
	flags := cmd.Flags()
	f.on(flags)
	flags.Var(&rows, "older-than", "load runs and queries that ended longer ago, such as 365d")
	flags.Var(&samples, "samples-older-than", "samples of rows of executions that were stored longer ago, such as 14d")
	settings.OnlyFlags(flags, "older-than", "samples-older-than")
	return cmd
}

// ledgerError gives an error of the ledger its exit code.
func ledgerError(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ledger.ErrRefused), errors.Is(err, ledger.ErrNewer):
		return &exitError{code: exitUsage, err: err}
	}
	return &exitError{code: exitInternal, err: err}
}
