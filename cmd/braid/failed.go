package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) failedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "failed [ID]", Short: "List the chunks of a query that have failed, with what they ask for", Args: cobra.MaximumNArgs(1),
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
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHUNK\tCLASS\tHTTP\tREQUESTS\tASKS FOR\tMESSAGE")
	for _, f := range list.Failures {
		status := "-"
		if f.Status != 0 {
			status = fmt.Sprint(f.Status)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", f.Position, f.Class, status, f.Requests, oneCell(f.Asks), oneCell(f.Message))
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

// oneCell makes a text fit for one cell of a table.
func oneCell(text string) string { return strings.Join(strings.Fields(text), " ") }
