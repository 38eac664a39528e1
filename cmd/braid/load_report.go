package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/loadreport"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

func reportFormats() []string { return []string{"text", "json", "junit", "html"} }

func (a *app) loadReportCommand() *cobra.Command {
	var out, format string
	cmd := &cobra.Command{
		Use: "report [RUN]", Short: "Report a load run's numbers; without a RUN the newest", Args: cobra.MaximumNArgs(1),
		Long: `Reports latencies by chart, role and cache state with the number of samples beside every percentile, outcomes, thresholds, findings and what the
numbers may not be read as. It is there while the run goes, and final when it has ended.

` + loadExitHelp,
		Example: `  braid load report
  braid load report k7f2c3aa -o report.html
  braid load report latest --json | jq .by_chart_cache`,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := a.reportFormat(out, format)
			if err != nil {
				return err
			}
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				r, err := loads.Report(cmd.Context(), newest(args))
				if err != nil {
					return err
				}
				if err := a.writeReport(r, out, chosen); err != nil {
					return err
				}
				return judged(r)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "file to write (default: standard output)")
	flags.StringVar(&format, "format", "", "text, json, junit or html (default: as the file's name ends, else text)")
	settings.OnlyFlags(flags, "output", "format")
	return cmd
}

func (a *app) reportFormat(out, format string) (string, error) {
	switch {
	case format != "" && !slices.Contains(reportFormats(), format):
		return "", usage("--format is %.20q; use %s", format, strings.Join(reportFormats(), ", "))
	case format != "":
		return format, nil
	case out == "" && a.json:
		return "json", nil
	}
	switch strings.ToLower(filepath.Ext(out)) {
	case ".json":
		return "json", nil
	case ".xml":
		return "junit", nil
	case ".html", ".htm":
		return "html", nil
	}
	return "text", nil
}

func (a *app) writeReport(r *load.Report, out, format string) error {
	if out == "" && format == "json" {
		return a.printJSON(r)
	}
	var text strings.Builder
	switch format {
	case "json":
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	case "junit":
		xml, err := load.JUnit(r)
		if err != nil {
			return err
		}
		text.Write(xml)
	case "html":
		page, err := loadreport.HTML(r)
		if err != nil {
			return err
		}
		text.Write(page)
	default:
		if out == "" {
			return a.printReport(a.stdout, r)
		}
		if err := a.printReport(&text, r); err != nil {
			return err
		}
	}
	if out == "" || out == "-" {
		_, err := io.WriteString(a.stdout, text.String())
		return err
	}
	if err := writePrivate(out, text.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if a.json {
		return a.printJSON(map[string]any{"written": out})
	}
	a.line("written", "%s", out)
	return nil
}

// printReport writes a report as people read it.
func (a *app) printReport(w io.Writer, r *load.Report) error {
	page := sheetOn(w)
	page.line("run", "%s  ·  %s revision %d  ·  %s (%s)", r.Run, r.Profile, r.Revision, r.Environment, r.Capacity.Class)
	page.line("dashboard", "%s  %s", r.Dashboard, r.Title)
	page.line("ended", "%s", endingText(r))
	page.line("verdict", "%s", r.Verdict)
	page.line("in flight", "at most %d, bound by %s", r.Capacity.Effective, strings.Join(r.Capacity.Binding, " and "))
	page.line("variations", "%s of %s, seed %d", thousands(int64(r.Selected)), grouped(r.Theoretical), r.Seed)
	o := &r.Overall
	page.line("outcomes", "%s", outcomesText(o.Success, o.Errors, o.Timeouts, o.Cancelled, o.NotStarted, r.NotDispatched))
	if r.WarmUp > 0 {
		page.line("warm-up", "%s besides, in no number here", count(int64(r.WarmUp), "execution"))
	}
	page.line("sent", "%s", count(int64(r.RequestsSent), "request"))
	page.line("failed", "%s errors, %s timeouts of what completed", rateText(o.ErrorRate), rateText(o.TimeoutRate))
	page.trip(r.Trip)
	page.breaker(&r.Breaker)
	if err := page.flush(); err != nil {
		return err
	}
	tables := &reportTables{app: a, to: w}
	tables.latencies(r)
	tables.runner(r)
	tables.failures(r)
	tables.thresholds(r)
	tables.findings(r)
	tables.notes(r)
	return tables.err
}

func endingText(r *load.Report) string {
	if r.State.Active() {
		return fmt.Sprintf("not yet; it is %s", r.State)
	}
	text := string(r.Ending)
	if !r.Started.IsZero() {
		text += " after " + span(r.Ended.Sub(r.Started))
	}
	if r.StoppedBy != "" {
		text += ", by " + r.StoppedBy
	}
	if r.Reason != "" {
		text += ": " + oneLine(r.Reason)
	}
	return text
}

func outcomesText(success, errors, timeouts, cancelled, notStarted, notDispatched int) string {
	parts := []string{fmt.Sprintf("%s success", thousands(int64(success)))}
	for _, o := range []struct {
		n    int
		name string
	}{{errors, "error"}, {timeouts, "timeout"}, {cancelled, "cancelled"}, {notStarted, "not started"}, {notDispatched, "not dispatched"}} {
		if o.n > 0 || o.name == "error" || o.name == "timeout" {
			parts = append(parts, thousands(int64(o.n))+" "+o.name)
		}
	}
	return strings.Join(parts, ", ")
}

// rateText is an exact share as people read it, with what it is a share of.
func rateText(r *timing.Rate) string {
	if r == nil {
		return "no"
	}
	share, _ := r.Rat().Float64()
	return fmt.Sprintf("%.2f %% (%d/%d)", 100*share, r.Part, r.Whole)
}

func (p *sheet) trip(t *load.Trip) {
	if t == nil {
		return
	}
	for _, trigger := range t.Triggers {
		p.line("tripped", "%s was %s, and %s is the limit, after %d completed", trigger.Metric, trigger.Observed, trigger.Threshold, t.AtCompleted)
	}
}

func (p *sheet) breaker(b *load.BreakerStatus) {
	parts := []string{b.State}
	for _, t := range []struct {
		name   string
		status load.TriggerStatus
	}{{"error_rate", b.Error}, {"latency", b.Latency}} {
		part := t.name + " " + t.status.State
		if t.status.Reason != "" {
			part += " (" + t.status.Reason + ")"
		}
		if t.status.Threshold != "" {
			part += fmt.Sprintf(" %s of %s", orDash(t.status.Observed), t.status.Threshold)
		}
		if t.status.Warming {
			part += ", too few yet"
		}
		parts = append(parts, part)
	}
	p.line("breaker", "%s", strings.Join(parts, "; "))
}

func (a *app) loadCompareCommand() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use: "compare BASE RUN", Short: "Set a load run against an earlier one, by chart and cache state", Args: cobra.ExactArgs(2),
		Long: `Compares two runs of the same selection with the same capacity. A difference counts when it is above the noise, and is judged with enough
samples on both sides alone. A failure rate counts as worse when chance does not explain it.

--fail-on-slower is for a release gate: it ends with code 3 unless the run is shown to be no worse. That fails when a percentile is slower, when
more fails, when either run did not complete, and when a chart has too few samples to be judged.

` + loadExitHelp,
		Example: "  braid load compare k7f2c3aa latest\n  braid load compare k7f2c3aa latest --fail-on-slower",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLoads(cmd.Context(), func(loads braid.LoadRuns) error {
				c, err := loads.Compare(cmd.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				if a.json {
					err = a.printJSON(c)
				} else {
					err = a.printComparison(c)
				}
				switch {
				case err != nil:
					return err
				case !c.Comparable:
					return &exitError{code: exitIncomplete, err: fmt.Errorf("the load runs %s and %s cannot be compared: %s", c.Base, c.Run, strings.Join(c.Reasons, "; "))}
				case strict && !c.Gate.Passed:
					return &exitError{code: exitIncomplete, err: fmt.Errorf("the load run %s does not pass against %s: %s", c.Run, c.Base, strings.Join(c.Gate.Reasons, "; "))}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&strict, "fail-on-slower", false, "end with code 3 unless the run is shown to be no slower and to fail no more")
	settings.OnlyFlags(cmd.Flags(), "fail-on-slower")
	return cmd
}

func (a *app) printComparison(c *load.Comparison) error {
	if !c.Comparable {
		return nil // the error tells why
	}
	table := a.table()
	fmt.Fprintln(table, "CHART\tCACHE\tPCT\tBASE MS\tN\tRUN MS\tN\tDELTA\tCHANGE")
	for _, d := range c.Differences {
		change := string(d.Change)
		if d.SmallN && (d.Change == load.Slower || d.Change == load.Faster) {
			change += " (the slowest sample)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\n", chartText(d.Chart, d.Name), d.Cache, d.Percentile, millis(d.Base), d.BaseSamples, millis(d.Run), d.RunSamples, millis(d.Delta), change)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, rate := range append([]load.RateChange{*c.Failures}, c.Rates...) {
		if rate.Base != nil && rate.Run != nil && rate.Base.Part+rate.Run.Part > 0 {
			of := "all"
			if rate.Chart != 0 {
				of = chartText(rate.Chart, rate.Name)
			}
			a.line("failures", "%s: %s, was %s: %s", of, rateText(rate.Run), rateText(rate.Base), changeWord(rate.Change))
		}
	}
	for _, note := range c.Notes {
		a.line("note", "%s", note)
	}
	a.line("noise", "a difference counts above %s ms and %s of the base", c.Noise.Absolute, percentText(c.Noise.Relative))
	a.line("judged", "%d of %s", c.Judged, count(int64(len(c.Differences)), "percentile"))
	a.line("result", "%d slower, %d faster; %d fail more, %d less", c.Slower, c.Faster, c.Worse, c.Better)
	if c.Gate.Passed {
		a.line("gate", "passed")
	}
	for _, reason := range c.Gate.Reasons {
		a.line("gate", "failed: %s", reason)
	}
	return nil
}

func changeWord(c load.Change) string {
	switch c {
	case load.Same:
		return "within chance"
	case load.TooFew:
		return "too few to judge"
	default:
		return string(c)
	}
}

// percentText writes a share in decimal text as a percentage.
func percentText(share string) string {
	r, ok := new(big.Rat).SetString(share)
	if !ok {
		return share
	}
	text := r.Mul(r, big.NewRat(100, 1)).FloatString(2)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

func millis(m *timing.Milliseconds) string {
	if m == nil {
		return "-"
	}
	return m.String()
}

func chartText(id int64, name string) string {
	if name == "" {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%d %s", id, name)
}
