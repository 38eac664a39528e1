package main

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func (a *app) planCommand() *cobra.Command {
	k := new(asked)
	var exit bool
	cmd := &cobra.Command{
		Use:   "plan [QUERY.yaml]",
		Short: "Show what a query would do and cost; nothing is sent",
		Long: `Checks a query completely and shows what it would cost: chunks, requests, quota and time. Nothing is sent.

With --exit-code the command ends with the code that a run would most probably end with:
  0    the whole plan is expected to fit into one window of the quota
  2    the query cannot be run as it is
  4    a credential that the service demands is not set
  75   the plan takes more than one window: a run would be paused (or goes on by itself with --wait)

` + givenHelp + `
` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.prepare(cmd, args, k)
			if err != nil {
				return a.refused(err)
			}
			plan, err := a.plan(cmd, p.spec)
			if err != nil {
				return a.refused(p.place(err))
			}
			if err := a.saveGiven(k, p); err != nil {
				return err
			}
			if err := a.showPlan(plan, p, k); err != nil || !exit {
				return err
			}
			return a.planVerdict(plan, p.query)
		},
	}
	k.flags(a, cmd)
	cmd.Flags().BoolVar(&exit, "exit-code", false, "end with the code that a run would most probably end with")
	settings.OnlyFlags(cmd.Flags(), "exit-code")
	return cmd
}

func (a *app) plan(cmd *cobra.Command, spec *query.Spec) (*messages.PlanSummary, error) {
	if a.server == "" {
		return braid.Plan(a.planConfig(), spec)
	}
	client, err := braid.NewClient(a.server)
	if err != nil {
		return nil, err
	}
	return client.Plan(cmd.Context(), spec)
}

func (a *app) planConfig() braid.PlanConfig {
	return braid.PlanConfig{Definitions: a.definitions(), Getenv: a.getenv, ConfigDir: filepath.Dir(a.servicesDir), Now: time.Now()}
}

// planVerdict is the exit code that a run would most probably end with.
func (a *app) planVerdict(plan *messages.PlanSummary, q *query.Query) error {
	if a.server == "" {
		d, err := a.definitions().Open(q.Service)
		if err != nil {
			return err
		}
		for _, missing := range a.planConfig().MissingKeys(d) {
			a.line("key", "%s demands the credential %s; put it into %s", d.Name, missing.ID, placesOf(missing))
			return &exitError{code: exitCredentials, err: errors.New("a credential is missing"), said: true}
		}
	}
	if !plan.Fits() && time.Duration(q.Run.OnQuota.WaitUpTo) < time.Duration(plan.Waited)*time.Second {
		return &exitError{code: exitPaused, err: errors.New("the plan does not fit into one window of the quota"), said: true}
	}
	return nil
}

// runCommandLine is the command that runs what was planned, with the settings that were given for the plan.
func (a *app) runCommandLine(p *prepared, k *asked) string {
	words := []string{"braid", "run"}
	switch {
	case p.query.File != "":
		words = append(words, quoteArg(p.query.File))
	case k.given.save != "":
		words = append(words, quoteArg(k.given.save))
	default:
		words = append(words, k.given.words()...)
	}
	if k.given.save == "" {
		for _, out := range k.out {
			words = append(words, "-o", quoteArg(out))
		}
		if k.format != "" {
			words = append(words, "--format", quoteArg(k.format))
		}
	}
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

// words are the flags as they were given.
func (g *given) words() []string {
	words := []string{"--service", quoteArg(g.service), "--collection", quoteArg(g.collection)}
	add := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, quoteArg(value))
		}
	}
	add("sites", g.sites)
	add("prefix", g.prefix)
	for _, set := range g.set {
		add("set", set)
	}
	add("select", strings.Join(g.columns, ","))
	add("zone", g.zone)
	if g.maxChunks > 0 {
		add("max-chunks", strconv.Itoa(g.maxChunks))
	}
	if g.maxRows > 0 {
		add("max-rows", strconv.FormatInt(g.maxRows, 10))
	}
	return words
}
