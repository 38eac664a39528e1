package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status [ID]", Short: "Show where a query stands; without an ID the newest", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				status, err := s.Status(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				if s.embedded != nil {
					survey, err := s.embedded.Survey(cmd.Context(), status.Query)
					if err != nil {
						return err
					}
					requests := max(status.Progress.Requests, survey.Progress.Requests)
					status.Progress = &survey.Progress
					status.Progress.Requests = requests
				}
				if a.json {
					return a.printJSON(status)
				}
				return a.printStatus(status)
			})
		},
	}
}

func (a *app) printStatus(s *messages.Status) error {
	q, p := s.Query, s.Progress
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", label, fmt.Sprintf(format, args...))
	}
	line("query", "%s (%s)", q.ID, q.Name)
	line("service", "%s %s", q.Service, q.Collection)
	line("state", "%s", q.State)
	if q.Stop != nil {
		line("because", "%s", failureText(q.Stop))
	}
	line("chunks", "%s of %s complete, %s failed", thousands(int64(p.Completed)), thousands(int64(q.Chunks)), thousands(int64(p.Failed)))
	line("rows", "%s", thousands(p.Rows))
	line("requests", "%s", thousands(p.Requests))
	line("run", "%d", q.Run)
	line("created", "%s", q.Created.Local().Format(time.DateTime))
	line("updated", "%s", q.Updated.Local().Format(time.DateTime))
	if at := q.ResumeAt(); !at.IsZero() {
		line("next", "%s (%s)", at.Local().Format(time.DateTime), in(time.Until(at)))
	}
	switch q.State {
	case messages.Complete:
		line("export", "%s", a.exportHint(q.ID))
	case messages.Running, messages.Stopping:
	case messages.Interrupted, messages.Failed, messages.Cancelled:
		line("continue", "%s", a.resumeHint(q, false))
	}
	return table.Flush()
}
