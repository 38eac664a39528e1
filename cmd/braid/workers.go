package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/pkg/messages"
)

func (a *app) workersCommand() *cobra.Command {
	return &cobra.Command{
		Use: "workers", Short: "List the workers that are there, and what they do", Args: cobra.NoArgs,
		Long: `Lists the workers of a server, or of the process that has the data directory. A worker that has ended in an orderly way
is gone at once; one that was killed, after some time in which nothing was heard of it.`,
		Example: "  braid workers\n  braid workers --server https://braid.example.org --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				list, err := s.Workers(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(list)
				}
				return a.printWorkers(list)
			})
		},
	}
}

func (a *app) printWorkers(list *messages.WorkerList) error {
	if len(list.Workers) == 0 {
		a.line("none", "no worker is there; queries wait until one is")
		return nil
	}
	table := a.table()
	fmt.Fprintln(table, "WORKER\tHOST\tVERSION\tCHUNKS\tUP\tSEEN")
	for _, w := range list.Workers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n",
			w.ID, w.Host, w.Version, fmt.Sprintf("%d/%d", w.Running, w.Concurrency), span(list.Now.Sub(w.Started).Truncate(time.Second)), ago(list.Now.Sub(w.Seen)))
	}
	return table.Flush()
}

func ago(d time.Duration) string {
	if d < 2*time.Second {
		return "now"
	}
	return span(d.Round(time.Second)) + " ago"
}

// serviceStanding tells how a service stands at the server, or in the process that has the data directory.
func (a *app) serviceStanding(ctx context.Context, name string) error {
	return a.within(ctx, 0, func(s *session) error {
		view, err := s.Service(ctx, name)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(view)
		}
		return a.printService(view, time.Now())
	})
}

func (a *app) printService(v *messages.ServiceView, now time.Time) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", label, fmt.Sprintf(format, args...))
	}
	line("service", "%s", strings.TrimSpace(v.Name+"  "+v.Title))
	if v.Unknown {
		line("", "there is no definition of it any more")
	}
	if v.URL != "" {
		line("url", "%s", v.URL)
	}
	switch {
	case v.Gate != nil && v.Gate.Until.After(now):
		line("gate", "closed until %s (%s): %s", moment(v.Gate.Until), in(v.Gate.Until.Sub(now)), v.Gate.Reason)
	default:
		line("gate", "open")
	}
	if v.Slots == 0 {
		line("slots", "no query has used it yet")
	} else {
		line("slots", "%s of %s in use", thousands(int64(len(v.Holders))), thousands(int64(v.Slots)))
	}
	for _, h := range v.Holders {
		line("", "slot %d  %s  for %s", h.Slot, h.Worker, span(now.Sub(h.Since)))
	}
	for _, p := range v.Pools {
		next := ""
		if !p.Next.IsZero() {
			next = ", the next at " + moment(p.Next)
		}
		line("quota", "%s: %s left per %s%s", p.Pool, leftText(p), perText(p), next)
	}
	for _, q := range v.Queries {
		why := ""
		if q.Tripped != nil {
			why = ", stopped by the breaker"
		}
		line("query", "%s (%s) %s%s", q.ID, q.Name, q.State, why)
	}
	return table.Flush()
}
