package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

func (a *app) servicesTestCommand() *cobra.Command {
	var collections, set []string
	var rows int
	cmd := &cobra.Command{
		Use:     "test NAME",
		Example: "  braid services test usgs-waterdata --collection daily \\\n    --set monitoring_location_id=USGS-01646500",
		Short:   "Send a small request to each collection, and judge the answer",
		Long: `Sends one small request to each collection, or to those that --collection names, and compares the answer with what the
definition declares: columns, types, the next page, and what is told about the quota. Each request spends quota like
any other, and none is sent again. Parameters that a collection needs are given by --set; without --collection, those that
need more are skipped and named.

` + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.definitions().Open(args[0])
			if errors.Is(err, braid.ErrUnknownService) {
				return usage("%s", problemText(err))
			}
			if err != nil {
				return err
			}
			probes, err := a.probes(d, collections, set, rows)
			if err != nil {
				return err
			}
			a.line("note", "this sends %s to %s", count(int64(len(probes)), "request"), d.BaseURL)
			return a.probeAll(cmd, probes)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&collections, "collection", nil, "test this collection; may be given several times (default: all)")
	flags.StringArrayVar(&set, "set", nil, "a value of a parameter, as `NAME=VALUE`; collections without the parameter go without it")
	flags.IntVar(&rows, "rows", 0, "most rows to ask for (default 5)")
	settings.OnlyFlags(cmd.Flags(), "collection", "set", "rows")
	return cmd
}

// probes checks the values of all collections before anything is sent.
func (a *app) probes(d *service.Definition, names, set []string, rows int) ([]braid.Probe, error) {
	chosen := d.Collections
	if len(names) > 0 {
		chosen = nil
	}
	for _, name := range names {
		c, err := d.Collection(name)
		if err != nil {
			return nil, usage("%s", problemText(err))
		}
		chosen = append(chosen, c)
	}
	found := new(problems)
	var probes []braid.Probe
	var skipped []string
	used := map[string]bool{}
	for _, c := range chosen {
		own := a.settingsOf(c, set, used)
		g := given{service: d.Name, collection: c.Name, set: own}
		if missing := a.missing(c, own); missing != "" && len(names) == 0 {
			skipped = append(skipped, c.Name+" needs "+missing)
			continue
		}
		q := &query.Query{Service: d.Name, Collection: c.Name}
		g.conditions(q, c, found)
		resolved, err := q.Resolve(query.Sources{Open: readFile, Zone: time.LoadLocation, Today: time.Now(), Accepts: c.Accepts})
		if err := found.take(err); err != nil {
			return nil, err
		}
		for _, problem := range q.Check(c, resolved) {
			problem.Message = c.Name + ": " + problem.Message
			found.add(problem)
		}
		probes = append(probes, braid.Probe{
			Collection: c, Values: resolved.Values, Rows: rows, Getenv: a.getenv, ConfigDir: filepath.Dir(a.servicesDir),
			Version: buildinfo.Version(), Now: time.Now(),
		})
	}
	for _, text := range set {
		if name, _, _ := strings.Cut(text, "="); !used[name] {
			found.add(query.Place{File: "--set " + shortened(name, 60)}.Problem("none of the collections has such a parameter"))
		}
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	if len(probes) == 0 && len(skipped) > 0 {
		return nil, usage("every collection needs values, given by --set: %s", strings.Join(skipped, "; "))
	}
	for _, text := range skipped {
		a.line("skipped", "%s, given by --set", text)
	}
	return probes, nil
}

// missing names what a collection needs beside the settings; empty when it needs nothing.
func (*app) missing(c *service.Collection, set []string) string {
	given := service.Values{}
	for _, text := range set {
		name, value, _ := strings.Cut(text, "=")
		given[name] = append(given[name], value)
	}
	var wrong service.ValueErrors
	var missing []string
	if err := c.CheckValues(given); errors.As(err, &wrong) {
		for _, e := range wrong {
			if errors.Is(e, service.ErrMissingParameter) {
				missing = append(missing, strings.ReplaceAll(e.Parameter, ", ", " or "))
			}
		}
	}
	return strings.Join(missing, " and ")
}

// settingsOf are the settings of parameters that a collection has.
func (*app) settingsOf(c *service.Collection, set []string, used map[string]bool) []string {
	var own []string
	for _, text := range set {
		name, _, _ := strings.Cut(text, "=")
		for _, p := range c.Parameters() {
			if p.Name == name || slices.Contains(p.Aliases, name) {
				own, used[name] = append(own, text), true
			}
		}
	}
	return own
}

func (a *app) probeAll(cmd *cobra.Command, probes []braid.Probe) error {
	reports := []*braid.ProbeReport{}
	var worst error
	for _, probe := range probes {
		report, err := probe.Run(cmd.Context())
		if err != nil {
			return fmt.Errorf("%s: %w", probe.Collection.Name, err)
		}
		reports = append(reports, report)
		if !a.json {
			a.printProbe(report)
		}
		switch {
		case report.Class == service.ClassAuth:
			worst = &exitError{code: exitCredentials, err: errors.New("refused"), said: true}
		case report.Problem != "" && worst == nil:
			worst = &exitError{code: exitIncomplete, err: errors.New("not a page"), said: true}
		case len(report.Bad) > 0 && worst == nil:
			worst = &exitError{code: exitIncomplete, err: errors.New("bad values"), said: true}
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"collections": reports}); err != nil {
			return err
		}
	}
	return worst
}

func (a *app) printProbe(r *braid.ProbeReport) {
	show := func(label, format string, args ...any) {
		fmt.Fprintf(a.stdout, "  %-12s %s\n", label, messages.Text(fmt.Sprintf(format, args...))) // the service's words reach no terminal as they are
	}
	list := func(label string, names []string) {
		for _, line := range wrapped(strings.Join(names, ", "), listWidth-15) {
			show(label, "%s", line)
			label = ""
		}
	}
	fmt.Fprintln(a.stdout, r.Collection)
	show("request", "%s %s", r.Method, cut(r.URL))
	if r.Body != "" {
		show("", "%s", cut(r.Body))
	}
	if r.Status > 0 {
		show("answer", "HTTP %d, which means %s", r.Status, r.Class)
	}
	if r.Problem != "" {
		show("problem", "%s", r.Problem)
	}
	if r.Class == service.ClassOK {
		show("rows", "%s, %s", count(int64(r.Rows), "row"), map[bool]string{true: "and a next page", false: "and no next page"}[r.Next])
		list("columns", r.Columns)
		list("absent", r.Absent)
		list("undeclared", r.Undeclared)
	}
	for _, b := range r.Bad {
		show("bad", "%s of %s that cannot be read as %s; the first is %q", count(b.Count, "value"), b.Name, b.Type, b.Originals[0])
	}
	for i, h := range r.Headers {
		show([]string{"quota", ""}[min(1, i)], "%s: %q", h.Name, h.Value)
	}
	if len(r.Headers) == 0 && r.Status > 0 {
		show("quota", "the answer tells nothing about it")
	}
}
