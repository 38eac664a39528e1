package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func (a *app) planCommand() *cobra.Command {
	return &cobra.Command{
		Use: "plan QUERY.yaml", Short: "Show what a query would do; nothing is sent", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, spec, err := a.readQuery(args[0])
			if err != nil {
				return err
			}
			if _, err := a.targets(q, args[0], nil, ""); err != nil {
				a.line("note", "%s", err)
			}
			plan, err := a.plan(cmd, spec)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(plan)
			}
			return a.printPlan(plan, args[0])
		},
	}
}

func (a *app) plan(cmd *cobra.Command, spec *query.Spec) (*messages.PlanSummary, error) {
	if a.server == "" {
		return braid.Plan(a.definitions(), spec, time.Now())
	}
	client, err := braid.NewClient(a.server)
	if err != nil {
		return nil, err
	}
	return client.Plan(cmd.Context(), spec)
}

func (a *app) printPlan(p *messages.PlanSummary, file string) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "query\t%s %s\n", p.Service, p.Collection)
	fmt.Fprintf(table, "chunks\t%s (longest URL %s of %s bytes)\n", thousands(int64(p.Chunks)), thousands(int64(p.LongestURLBytes)), thousands(int64(p.URLLimit)))
	if p.EstimatedRows > 0 {
		fmt.Fprintf(table, "rows\tabout %s\n", thousands(p.EstimatedRows))
	}
	fmt.Fprintf(table, "requests\tat least %s, at most %d in flight\n", thousands(p.LeastRequests), min(p.InFlight, p.Chunks))
	fmt.Fprintf(table, "first\t%s\n", cut(p.FirstURL))
	if p.Chunks > 1 {
		fmt.Fprintf(table, "last\t%s\n", cut(p.LastURL))
	}
	fmt.Fprintf(table, "plan\t%.16s…\n", p.Fingerprint)
	fmt.Fprintf(table, "run it\t%s\n", a.runCommandLine(file))
	return table.Flush()
}

const shownURL = 300

// cut keeps a URL short enough to be read; --json has all of it.
func cut(url string) string {
	if len(url) <= shownURL {
		return url
	}
	return url[:shownURL] + "…"
}

// runCommandLine is the command that runs what was planned, with the settings that were given for the plan.
func (a *app) runCommandLine(file string) string {
	words := []string{"braid", "run", quoteArg(file)}
	for _, given := range []struct{ name, value string }{
		{"config", a.config}, {"data-dir", a.dataDir}, {"server", a.server}, {"services-dir", a.servicesDir},
	} {
		if a.origins[given.name] == settings.FromFlag {
			words = append(words, "--"+given.name, quoteArg(given.value))
		}
	}
	for _, service := range slices.Sorted(maps.Keys(a.serviceURL)) {
		if a.origins["service-url"] == settings.FromFlag {
			words = append(words, "--service-url", quoteArg(service+"="+a.serviceURL[service]))
		}
	}
	return strings.Join(words, " ")
}
