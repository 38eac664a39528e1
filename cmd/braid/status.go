package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status [ID]", Short: "Show where a query stands; without an ID the newest", Args: cobra.MaximumNArgs(1),
		Example: `  braid status
  braid status k7f2c3aa --json`,
		Long: `Shows where a query stands; without an ID the newest.

Requests are all that were sent in the query's life, retries and what was fetched again included. "At least" stands before
their number when a process that ran the query was killed: what it sent last, and nothing stored tells of, is not counted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				status, err := s.Status(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				if err := s.survey(cmd.Context(), status); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(a.shown(status))
				}
				return a.printStatus(status)
			})
		},
	}
}

// survey replaces a query's cached progress by what its stored results say, where they can be read.
func (s *session) survey(ctx context.Context, status *messages.Status) error {
	if s.embedded == nil {
		return nil
	}
	return progressOf(ctx, status, s.embedded.Survey)
}

// recount is a survey of a query that has settled, and is noted as its progress.
func (s *session) recount(ctx context.Context, status *messages.Status) error {
	switch {
	case s.embedded == nil:
		return nil
	case status.Query.State.Active():
		return progressOf(ctx, status, s.embedded.Survey)
	}
	return progressOf(ctx, status, s.embedded.Recount)
}

func progressOf(ctx context.Context, status *messages.Status, survey func(context.Context, *messages.Query) (*coordinator.Survey, error)) error {
	found, err := survey(ctx, status.Query)
	if err != nil {
		return err
	}
	quotas, workers := status.Progress.Quotas, status.Progress.Workers
	status.Progress = &found.Progress
	status.Progress.Quotas, status.Progress.Workers = quotas, workers
	return nil
}

func chunksText(q *messages.Query, p *messages.Progress) string {
	text := fmt.Sprintf("%s of %s complete, %s failed", thousands(int64(p.Completed)), thousands(int64(q.Chunks)), thousands(int64(p.Failed)))
	if p.Split > 0 {
		text += fmt.Sprintf("; %s too large for the service were divided", thousands(int64(p.Split)))
	}
	if limitReached(q, p) {
		text += fmt.Sprintf("; the first %s need no more of them", count(q.MaxRows, "row"))
	}
	return text
}

// atLeast stands before a number of requests where some may be counted nowhere.
func atLeast(p *messages.Progress) string {
	if p.AtLeast {
		return "at least "
	}
	return ""
}

func requestsText(p *messages.Progress) string { return atLeast(p) + count(p.Requests, "request") }

func (a *app) printStatus(s *messages.Status) error {
	q, p := s.Query, s.Progress
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", label, fmt.Sprintf(format, args...))
	}
	line("query", "%s (%s)", q.ID, q.Name)
	line("service", "%s %s", q.Service, q.Collection)
	line("state", "%s", a.stateText(q, time.Now()))
	if q.Stop != nil {
		line("because", "%s", failureText(q.Stop))
	}
	line("chunks", "%s", chunksText(q, p))
	line("rows", "%s", thousands(p.Rows))
	if q.State == messages.Complete && p.Rows == 0 {
		line("empty", "%s", nothingThere(q))
	}
	line("requests", "%s%s", atLeast(p), thousands(p.Requests))
	for _, pool := range p.Quotas {
		if q.State.Active() {
			line("quota", "%s: %s of %s left", pool.Pool, thousands(pool.Left), thousands(pool.Limit))
		}
	}
	if q.State.Active() && p.Workers != nil {
		line("workers", "%s", workersText(q, p.Workers, time.Now()))
	}
	if q.MaxRequests > 0 {
		line("budget", "%s for each run", count(q.MaxRequests, "request"))
	}
	if q.InFlight != 0 {
		line("in flight", "%s, as the query asks", q.InFlight)
	}
	if rank := rankText(q); rank != "" {
		line("rank", "%s", rank)
	}
	line("run", "%d", q.Run)
	line("created", "%s", moment(q.Created))
	line("updated", "%s", moment(q.Updated))
	if at := q.ResumeAt(); !at.IsZero() {
		line("next", "%s (%s)", moment(at), in(time.Until(at)))
	}
	for _, step := range a.nextSteps(q) {
		line(step.label, "%s", step.text)
	}
	return table.Flush()
}
