package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

// reportTables are the parts of a report behind its head, each with a heading.
type reportTables struct {
	app *app
	to  io.Writer
	err error
}

// add writes a table with its heading; nothing when it has no rows.
func (t *reportTables) add(heading, head string, rows []string) {
	if t.err != nil || len(rows) == 0 {
		return
	}
	if _, t.err = fmt.Fprintf(t.to, "\n%s\n", heading); t.err != nil {
		return
	}
	out := &table{to: t.to, width: terminalWidth(t.to)}
	if out.width == 0 {
		out.width = wideTable // for people all the same, in a file or a pipe
	}
	if head != "" {
		fmt.Fprintln(out, head)
	}
	for _, row := range rows {
		fmt.Fprintln(out, row)
	}
	t.err = out.Flush()
}

const wideTable = 200

// latencies is by chart, role and cache state: the times of hits and misses have no common median.
func (t *reportTables) latencies(r *load.Report) {
	roles := len(r.ByRole) > 1
	head := "CHART\t"
	if roles {
		head += "ROLE\t"
	}
	var rows []string
	for _, g := range r.Groups {
		if g.Upstream.Samples == 0 {
			continue
		}
		row := chartText(g.Chart, g.Name) + "\t"
		if roles {
			row += orDash(g.Role) + "\t"
		}
		state := string(g.Cache)
		if g.Async {
			state += ", async"
		}
		q := g.Upstream
		rows = append(rows, row+fmt.Sprintf("%s\t%d\t%s\t%s\t%s\t%s", state, q.Samples, millis(q.P50), millis(q.P90), millis(q.P95), millis(q.P99)))
	}
	t.add("Upstream latency in ms, of successes", head+"CACHE\tN\tP50\tP90\tP95\tP99", rows)
}

// runner is the runner's own health: times that are not the server's.
func (t *reportTables) runner(r *load.Report) {
	var rows []string
	for _, wait := range []struct {
		name string
		q    load.Quantiles
	}{{"in the queue", r.Overall.Queue}, {"for places", r.Overall.Resource}} {
		if wait.q.Samples > 0 {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s\t%s\t%s", wait.name, wait.q.Samples, millis(wait.q.P50), millis(wait.q.P90), millis(wait.q.P95), millis(wait.q.P99)))
		}
	}
	t.add("Waits of the runner itself in ms, which are not the server's", "WAIT\tN\tP50\tP90\tP95\tP99", rows)
}

func (t *reportTables) failures(r *load.Report) {
	var rows []string
	for _, g := range r.ByChart {
		if failed := g.Errors + g.Timeouts; failed > 0 {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%s", chartText(g.Chart, g.Name), g.Completed, g.Errors, g.Timeouts, rateText(timing.RateOf(failed, g.Completed))))
		}
	}
	t.add("Charts that failed", "CHART\tCOMPLETED\tERRORS\tTIMEOUTS\tFAILED", rows)
	var wrong, left []string
	for _, k := range r.Kinds {
		row := fmt.Sprintf("%s\t%s\t%d", k.Outcome, k.Kind, k.Count)
		if k.Outcome.Completed() {
			wrong = append(wrong, row)
		} else {
			left = append(left, row)
		}
	}
	t.add("What went wrong", "OUTCOME\tKIND\tCOUNT", wrong)
	t.add("What was not carried through", "OUTCOME\tWHY\tCOUNT", left)
}

func (t *reportTables) thresholds(r *load.Report) {
	var rows []string
	for _, j := range r.Thresholds {
		verdict := "passed"
		if !j.Passed {
			verdict = "FAILED: " + j.Reason
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s", thresholdText(&j.Threshold), orDash(j.Observed), j.Samples, verdict))
	}
	t.add("Thresholds", "DEMAND\tOBSERVED\tN\tVERDICT", rows)
}

func thresholdText(t *load.Threshold) string {
	var of []string
	if t.Chart != 0 {
		of = append(of, fmt.Sprintf("chart %d", t.Chart))
	}
	if t.Role != "" {
		of = append(of, "role "+t.Role)
	}
	if t.Cache != "" {
		of = append(of, "cache "+t.Cache)
	}
	text := t.Metric
	if len(of) > 0 {
		text += " of " + strings.Join(of, ", ")
	}
	if t.Min != "" {
		text += " ≥ " + t.Min
	}
	if t.Max != "" {
		text += " ≤ " + t.Max
	}
	return text
}

func (t *reportTables) findings(r *load.Report) {
	var rows []string
	for _, f := range r.Findings {
		remark := ""
		switch {
		case f.TimeDependent:
			remark = "relative time: other dates at another time"
		case f.OrderOnly:
			remark = "the same rows in another order"
		}
		var counts []string
		for _, d := range f.Digests {
			counts = append(counts, fmt.Sprintf("%d× %.8s", d.Count, d.SHA256))
		}
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%s", f.Chart, orDash(f.Role), orDash(f.TimeRange), strings.Join(counts, " "), orDash(remark)))
	}
	t.add("Data that differs where it should not", "CHART\tROLE\tTIME RANGE\tDIGESTS\tREMARK", rows)
}

func (t *reportTables) notes(r *load.Report) {
	if t.err != nil || len(r.Diagnostics) == 0 {
		return
	}
	if _, t.err = fmt.Fprintln(t.to, "\nHow not to read these numbers"); t.err != nil {
		return
	}
	for _, d := range r.Diagnostics {
		if _, err := fmt.Fprintf(t.to, "%s: %s\n", d.Code, d.Text); err != nil {
			t.err = err
			return
		}
	}
}
