package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) failedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "failed [ID]", Short: "List the chunks of a query that have failed, and what they ask for", Args: cobra.MaximumNArgs(1),
		Example: `  braid failed
  braid failed k7f2c3aa --json`,
		Long: `Lists the chunks that have failed in the query's present run: position, class of the failure, HTTP status, requests that were
sent for it, what it asks for and what went wrong. Of the class split are those that the service refused as too large, that are
recorded as split, and that this version cannot divide. Nothing is asked of the service.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				list, err := s.Failures(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(list)
				}
				return a.printFailures(list)
			})
		},
	}
}

func (a *app) printFailures(list *messages.Failures) error {
	if len(list.Failures) == 0 {
		a.line("none", "no chunk of query %s has failed", list.Query)
		return nil
	}
	common, asks := inCommon(list.Failures)
	if common != "" {
		fmt.Fprintf(a.stdout, "all ask for %s\n\n", common)
	}
	table := a.table()
	fmt.Fprintln(table, "CHUNK\tCLASS\tHTTP\tREQUESTS\tASKS FOR\tMESSAGE")
	for i, f := range list.Failures {
		status := "-"
		if f.Status != 0 {
			status = fmt.Sprint(f.Status)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", f.Position, f.Class, status, f.Requests, asks[i], oneCell(f.Message))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	again := false
	for _, f := range list.Failures {
		if f.Class != messages.ClassSplit {
			again = true
		} else {
			a.line("split", "running chunk %s again changes nothing; %s", f.Position, f.Hint)
		}
	}
	if again && !list.State.Active() {
		a.line("again", "braid retry %s --failed%s", list.Query, a.whereHint())
	}
	return nil
}

// inCommon parts what failed chunks ask for into what all of them ask for, and what each asks for beside that.
func inCommon(failures []messages.FailedChunk) (common string, each []string) {
	const between = "; "
	seen := map[string]int{}
	parts := make([][]string, len(failures))
	for i, f := range failures {
		parts[i] = strings.Split(oneCell(f.Asks), between)
		for part := range uniques(parts[i]) {
			seen[part]++
		}
	}
	shared := func(part string) bool { return len(failures) > 1 && seen[part] == len(failures) && part != "" }
	for i := range parts {
		rest := slices.DeleteFunc(slices.Clone(parts[i]), shared)
		if len(rest) == 0 { // they ask for the same: that is told of each
			return "", asksOf(failures)
		}
		each = append(each, strings.Join(rest, between))
	}
	if len(parts) > 0 {
		common = strings.Join(slices.DeleteFunc(slices.Clone(parts[0]), func(part string) bool { return !shared(part) }), between)
	}
	return common, each
}

func asksOf(failures []messages.FailedChunk) []string {
	all := make([]string, len(failures))
	for i, f := range failures {
		all[i] = oneCell(f.Asks)
	}
	return all
}

func uniques(parts []string) map[string]struct{} {
	set := make(map[string]struct{}, len(parts))
	for _, part := range parts {
		set[part] = struct{}{}
	}
	return set
}

// oneCell makes a text fit for one cell of a table.
func oneCell(text string) string { return strings.Join(strings.Fields(text), " ") }
