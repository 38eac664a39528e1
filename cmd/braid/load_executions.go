package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
)

func outcomes() []string {
	return []string{string(load.Success), string(load.Error), string(load.Timeout), string(load.Cancelled), string(load.NotStarted)}
}

func (a *app) loadExecutionsCommand() *cobra.Command {
	var f load.ExecutionFilter
	var outcome string
	cmd := &cobra.Command{
		Use: "executions RUN [NUMBER]", Short: "List the executions of a load run, or show all that is recorded of one", Args: cobra.RangeArgs(1, 2),
		Long: `Lists executions by their numbers. With a NUMBER it prints the record of that one as JSON, with the rows that were kept of its answer: they are
data of the role that it was sent as, and a server tells them to those alone who hold load:run.`,
		Example: "  braid load executions latest --outcome error\n  braid load executions latest 17",
		RunE: func(cmd *cobra.Command, args []string) error {
			if outcome != "" && !slices.Contains(outcomes(), outcome) {
				return usage("--outcome is %.20q; use one of %v", outcome, outcomes())
			}
			if f.Limit < 1 {
				return usage("--limit is %d; use at least 1", f.Limit)
			}
			f.Outcome = load.Outcome(outcome)
			number := 0
			if len(args) == 2 {
				var err error
				if number, err = strconv.Atoi(args[1]); err != nil || number < 0 {
					return usage("%.20q is no number of an execution; the first one is 0", args[1])
				}
			}
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				if len(args) == 2 {
					e, err := loads.Execution(cmd.Context(), args[0], number)
					if err != nil {
						return err
					}
					return a.printJSON(e)
				}
				all, next, err := someExecutions(cmd.Context(), loads, args[0], f)
				if err != nil {
					return err
				}
				return a.printExecutions(args[0], all, next)
			})
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.Chart, "chart", 0, "only those of this chart")
	flags.StringVar(&f.Role, "as-role", "", "only those that were sent as this role")
	flags.StringVar(&outcome, "outcome", "", "only those that ended so: success, error, timeout, cancelled or not_started")
	flags.IntVar(&f.Limit, "limit", 50, "at most so many")
	flags.IntVar(&f.After, "after", -1, "only those with higher numbers (default: from the first on)")
	flags.Lookup("after").DefValue = ""
	settings.OnlyFlags(flags, "chart", "as-role", "outcome", "limit", "after")
	return cmd
}

// someExecutions goes on from page to page until there are as many as were asked for, or no more.
func someExecutions(ctx context.Context, loads braid.LoadRuns, run string, f load.ExecutionFilter) (all []*load.Execution, next int, err error) {
	want := f.Limit
	for next = f.After; ; {
		f.After, f.Limit = next, min(want-len(all), load.MaxExecutions)
		page, following, err := loads.Executions(ctx, run, f)
		if err != nil {
			return nil, 0, err
		}
		all, next = append(all, page...), following
		if next < 0 || len(all) >= want {
			return all, next, nil
		}
	}
}

func (a *app) printExecutions(run string, all []*load.Execution, next int) error {
	if a.json {
		document := map[string]any{"executions": nonNil(all)}
		if next >= 0 {
			document["next"] = next
		}
		return a.printJSON(document)
	}
	if len(all) == 0 {
		a.line("none", "no execution is recorded that is so")
		return nil
	}
	table := a.table()
	fmt.Fprintln(table, "NUMBER\tCHART\tROLE\tOUTCOME\tKIND\tSTATUS\tCACHE\tUPSTREAM MS\tROWS")
	for _, e := range all {
		upstream := "-"
		if e.Outcome.Completed() {
			upstream = msText(&e.Waits.Upstream)
		}
		fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%d\n", e.Number, e.Chart, orDash(e.Role), e.Outcome, orDash(e.Kind), e.Status, orDash(string(e.Cache)), upstream, e.Rows)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if next >= 0 {
		a.line("more", "braid load executions %s --after %d%s", run, next, a.whereHint())
	}
	return nil
}
