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
		Use: "plan [QUERY.yaml]",
		Example: `  braid plan daily-flow.yaml
  braid plan daily-flow.yaml --json
  braid plan --service usgs-waterdata --collection daily \
    --sites sites.csv --set parameter_code=00060 \
    --set time=2020-01-01/2020-12-31`,
		Short: "Show what a query would do and cost; nothing is sent",
		Long: `Checks a query completely and shows what it would cost: chunks, requests, quota and time. Nothing is sent.

With --exit-code the command ends with the code that a run would most probably end with:
  0    the whole plan is expected to fit into one window of each quota, or
       --wait or the query's wait_up_to wait long enough for the others
  2    the query cannot be run as it is
  4    a credential that the service demands is not set
  5    it cannot be told: requests or quota are not known; stderr says why
  75   the plan takes more than one window, and a run would be paused

` + givenHelp + `
` + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.prepare(cmd, args, k)
			if err != nil {
				return err
			}
			if err := a.checkEmbedded(); err != nil {
				return err
			}
			if err := k.askFull(p.spec); err != nil {
				return err
			}
			a.askStanding(p.spec)
			if err := k.spend.apply(a, p.spec); err != nil {
				return err
			}
			if k.wait {
				p.spec.Run.OnQuota.WaitUpTo = query.Duration(forever)
			}
			if err := a.feedPlan(cmd.Context(), p); err != nil {
				return err
			}
			plan, err := a.plan(cmd, p.spec)
			if err != nil {
				return p.place(err)
			}
			if p.spec.Since != nil {
				a.line("note", "since: this is what a first run asks for; one that goes on from a complete run asks only for what is younger")
			}
			if err := a.saveGiven(k, p); err != nil {
				return err
			}
			if err := a.showPlan(plan, p, k); err != nil || !exit {
				return err
			}
			return a.planVerdict(plan, p.spec)
		},
	}
	k.flags(a, cmd)
	a.embeddedFlagsOn(cmd.Flags()) // of a run: what a plan takes is what a run takes
	a.emptyFlagOn(cmd.Flags())
	cmd.Flags().BoolVar(&k.wait, "wait", false, "a run would wait out quota pauses and interruptions")
	cmd.Flags().BoolVar(&exit, "exit-code", false, "end with the code that a run would most probably end with")
	settings.OnlyFlags(cmd.Flags(), "exit-code")
	return cmd
}

func (a *app) plan(cmd *cobra.Command, spec *query.Spec) (*messages.PlanSummary, error) {
	if a.server == "" {
		cfg := a.planConfig()
		cfg.Quotas = func() ([]messages.QuotaStanding, messages.Unknown) { return a.standings(cmd.Context()) }
		return braid.Plan(cfg, spec)
	}
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	return client.Plan(cmd.Context(), spec)
}

func (a *app) planConfig() braid.PlanConfig {
	return braid.PlanConfig{Definitions: a.definitions(), InFlight: a.operatorsInFlight(), DefaultInFlight: a.defaultInFlight(), Lanes: a.lanes(), Getenv: a.getenv, ConfigDir: filepath.Dir(a.servicesDir), Now: time.Now()}
}

// planVerdict is the exit code that a run would most probably end with.
func (a *app) planVerdict(plan *messages.PlanSummary, q *query.Spec) error {
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
	fits, waits := plan.Fits(), time.Duration(q.Run.OnQuota.WaitUpTo)
	switch {
	case fits == messages.FitYes || waits >= forever:
		return nil
	case fits == messages.FitNo && plan.Waited > 0 && waits < shortestWait(plan):
		return &exitError{code: exitPaused, err: errors.New("the plan does not fit into one window of the quota"), said: true}
	}
	why := whyUntold(plan)
	if why == "" && waits >= time.Duration(plan.Waited)*time.Second {
		return nil
	}
	if why == "" {
		why = "whether a chunk completes in each window is not known, and the query waits no longer than " + roughly(int64(waits/time.Second)) + " without one"
	}
	a.line("verdict", "cannot be told: %s", why)
	return &exitError{code: exitUntold, err: errors.New("how a run would end cannot be told"), said: true}
}

// shortestWait is how long a run waits at least, when it waits for a window at all.
func shortestWait(plan *messages.PlanSummary) time.Duration {
	most := int64(2)
	for _, q := range plan.Quotas {
		most = max(most, q.Windows)
	}
	return time.Duration(plan.Waited/(most-1)) * time.Second
}

// whyUntold says why it is not known whether a plan fits into its quotas, or how many windows it takes; empty: it is.
func whyUntold(plan *messages.PlanSummary) string {
	for _, q := range plan.Quotas {
		if q.Unknown == "" {
			continue
		}
		why := q.Pool + ": " + string(q.Unknown)
		switch {
		case q.Counts == "rows" && plan.RowsUnknown != "":
			why += "; rows: " + string(plan.RowsUnknown)
		case q.Counts == "requests" && plan.RequestsUnknown != "":
			why += "; requests: " + string(plan.RequestsUnknown)
		}
		return why
	}
	return ""
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
		words = append(words, strings.Fields(intoWords(a.into))...)
		if k.format != "" {
			words = append(words, "--format", quoteArg(k.format))
		}
	}
	for _, given := range []struct{ name, value string }{
		{"config", a.config},
		{"data-dir", a.dataDir},
		{"server", a.server},
		{"services-dir", a.servicesDir},
		{"workers", strconv.Itoa(a.embedded.workers)},
		{"concurrency", strconv.Itoa(a.embedded.concurrency)},
		{"in-flight", a.embedded.inFlight.String()},
		{"priority", strconv.Itoa(a.embedded.priority)},
		{"weight", strconv.Itoa(a.embedded.weight)},
		{"listen", a.embedded.listen},
		{"lease-ttl", a.embedded.leaseTTL.String()},
		{"grace", a.embedded.grace.String()},
		{"durability", a.embedded.durability},
		{"max-store", a.embedded.maxStore.String()},
	} {
		if a.origins[given.name] == settings.FromFlag {
			words = append(words, "--"+given.name, quoteArg(given.value))
		}
	}
	for _, given := range []struct {
		name string
		on   bool
	}{{"wait", k.wait}, {"fail-on-empty", a.failOnEmpty}, {"table-only", a.tableOnly}, {"full", k.full}, {"fast-sync", a.embedded.fastSync}} {
		switch {
		case a.origins[given.name] != settings.FromFlag:
		case given.on:
			words = append(words, "--"+given.name)
		default: // it outranks the environment
			words = append(words, "--"+given.name+"=false")
		}
	}
	words = append(words, k.spend.words(a)...)
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
