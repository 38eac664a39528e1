package loadreport

import (
	"cmp"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

// Bounds of the file.
const (
	mostRows  = 450 // of the table of charts and cache states, and of all groups
	mostTexts = 200 // of each other list
	mostRunes = 90  // of a name
	mostWords = 200 // of any other text
)

// view is what the template shows, in words.
type view struct {
	*load.Report
	Policy      string
	Style       template.CSS
	Name        string
	Headline    string
	Mark        string // stands before the verdict, so that colour is not all that tells them apart
	Took        string
	Counts      []fact
	Terms       []fact
	Thresholds  []judged
	Triggers    []trigger
	Scale       scale
	Waits       []row
	Charts      table
	Both        table
	Caches      table
	Roles       table
	Kinds       []load.KindCount
	Findings    []finding
	MoreFound   int
	Diagnostics []load.Diagnostic
}

type fact struct{ Name, Value, Note string }

type judged struct{ What, Demand, Observed, Samples, Word, Class, Reason string }

type trigger struct{ Name, State, Observed, Threshold, Note string }

// table is rows of numbers; More is how many are left out.
type table struct {
	Rows []row
	More int
}

// row is one group: the percentiles of a time, over N successes.
type row struct {
	Name, Note, Cache          string
	Cached, Async, SmallN      bool
	N, P50, P90, P95, P99      string
	Completed, Failed, TimeOut string
	Bad                        bool
	Bar                        bar
}

type finding struct{ Chart, Role, TimeRange, Digests, Marks string }

func viewOf(r *load.Report) *view {
	v := &view{
		Report: r, Policy: Policy(), Style: template.CSS(style), //nolint:gosec // it is this package's own file
		Name: short(cmp.Or(r.ProfileName, r.Profile), mostRunes), Took: "–",
		Kinds: r.Kinds[:min(len(r.Kinds), mostTexts)],
	}
	v.Headline, v.Mark = headline(r)
	if !r.Ended.IsZero() && !r.Started.IsZero() {
		v.Took = r.Ended.Sub(r.Started).Round(100 * time.Millisecond).String()
	}
	v.fillFacts()
	v.fillThresholds()
	v.fillTriggers()
	v.Scale = scaleOf(r)
	v.fillTables()
	v.fillFindings()
	for _, d := range r.Diagnostics[:min(len(r.Diagnostics), mostTexts)] {
		d.Text = short(d.Text, mostWords)
		v.Diagnostics = append(v.Diagnostics, d)
	}
	return v
}

// headline says in a few words what came of the run.
func headline(r *load.Report) (words, mark string) {
	switch r.Verdict {
	case load.Passed:
		return "passed", "✓"
	case load.NotPassed:
		return "failed", "✕"
	case load.NotYetOver:
		return "not over yet", "▶"
	case load.NoVerdict:
		return "no thresholds", "○"
	}
	return string(r.Verdict), "?"
}

func (v *view) fillFacts() {
	r := v.Report
	v.Counts = []fact{
		{"executions", count(r.Total), fmt.Sprintf("%s variations × %s charts", count(r.Selected), count(r.ChartCount))},
		{"succeeded", count(r.Overall.Success), ""}, {"errors", count(r.Overall.Errors), rate(r.Overall.ErrorRate)},
		{"timeouts", count(r.Overall.Timeouts), rate(r.Overall.TimeoutRate)}, {"cancelled", count(r.Overall.Cancelled), ""},
		{"not started", count(r.Overall.NotStarted), ""}, {"not dispatched", count(r.NotDispatched), ""},
		{"warm-up", count(r.WarmUp), "in no number below"}, {"requests sent", count(r.RequestsSent), ""}, {"took", v.Took, ""},
	}
	bound := func(name string) string {
		for _, b := range r.Capacity.Binding {
			if b == name {
				return "binds"
			}
		}
		return ""
	}
	v.Terms = []fact{
		{"in flight at most", count(r.Capacity.Effective), string(r.Capacity.Class)}, {"asked for", count(r.Capacity.Requested), bound("requested")},
		{"environment's limit", count(r.Capacity.EnvMax), strings.TrimSpace(r.Capacity.EnvMaxSource + " " + bound("env_max"))},
		{"room in its pool", count(r.Capacity.PoolRoom), bound("pool_room")}, {"ceiling", count(r.Capacity.Ceiling), bound("ceiling")},
	}
}

func (v *view) fillThresholds() {
	for _, j := range v.Report.Thresholds[:min(len(v.Report.Thresholds), mostTexts)] {
		of := []string{j.Metric}
		if j.Chart != 0 {
			of = append(of, fmt.Sprintf("chart %d", j.Chart))
		}
		if j.Role != "" {
			of = append(of, "role "+j.Role)
		}
		if j.Cache != "" {
			of = append(of, "cache "+j.Cache)
		}
		var demand []string
		if j.Min != "" {
			demand = append(demand, "at least "+j.Min)
		}
		if j.Max != "" {
			demand = append(demand, "at most "+j.Max)
		}
		judgement := judged{
			What: short(strings.Join(of, ", "), mostWords), Demand: strings.Join(demand, ", "), Observed: cmp.Or(j.Observed, "–"), Samples: count(j.Samples),
			Word: "✓ passed", Class: "good", Reason: short(j.Reason, mostWords),
		}
		if !j.Passed {
			judgement.Word, judgement.Class = "✕ failed", "bad"
		}
		v.Thresholds = append(v.Thresholds, judgement)
	}
}

func (v *view) fillTriggers() {
	for _, t := range []struct {
		name string
		of   load.TriggerStatus
	}{{"share of failures", v.Report.Breaker.Error}, {"p99 of upstream latency, ms", v.Report.Breaker.Latency}} {
		note := short(t.of.Reason, mostWords)
		if t.of.Warming {
			note = strings.TrimPrefix(note+"; below the minimum of completed executions", "; ")
		}
		v.Triggers = append(v.Triggers, trigger{t.name, t.of.State, cmp.Or(t.of.Observed, "–"), cmp.Or(t.of.Threshold, "–"), note})
	}
}

func (v *view) fillTables() {
	r, o := v.Report, &v.Report.Overall
	for _, w := range []struct {
		name, note string
		of         *load.Quantiles
	}{
		{"wait in the queue", "from queued to taken: grows with the length of the run", &o.Queue},
		{"wait for a place", "from taken to admitted: the runner's own limits", &o.Resource},
		{"upstream latency", "from admitted to the last byte: the server", &o.Upstream}, {"end to end", "the sum of the three", &o.EndToEnd},
		{"from the intended start", "with an arrival rate", o.Late},
	} {
		if w.of != nil {
			v.Waits = append(v.Waits, v.quantiles(row{Name: w.name, Note: w.note}, w.of))
		}
	}
	v.Charts = v.table(r.ByChart, len(r.ByChart), chartName)
	v.Both = v.table(r.ByBoth, mostRows, chartName)
	v.Caches = v.table(r.ByCache, mostTexts, func(*load.Group) string { return "all charts" })
	v.Roles = v.table(r.ByRole, mostTexts, func(g *load.Group) string { return cmp.Or(short(g.Role, mostRunes), "the environment's first role") })
}

func chartName(g *load.Group) string {
	if g.Name == "" {
		return "chart " + strconv.FormatInt(g.Chart, 10)
	}
	return short(g.Name, mostRunes)
}

func (v *view) table(groups []load.Group, most int, name func(*load.Group) string) table {
	shown := groups[:min(len(groups), most, mostRows)]
	t := table{More: len(groups) - len(shown)}
	for i := range shown {
		g := &shown[i]
		t.Rows = append(t.Rows, v.quantiles(row{
			Name: name(g), Cache: mix(g), Cached: g.Cache != "", Async: g.Async, Completed: count(g.Completed), Failed: rate(g.ErrorRate), TimeOut: rate(g.TimeoutRate),
			Bad: g.Errors+g.Timeouts > 0,
		}, &g.Upstream))
	}
	return t
}

func (v *view) quantiles(to row, q *load.Quantiles) row {
	to.N, to.SmallN = count(q.Samples), q.Samples > 0 && q.Samples < 100
	to.P50, to.P90, to.P95, to.P99 = ms(q.P50), ms(q.P90), ms(q.P95), ms(q.P99)
	to.Bar = v.Scale.bar(q)
	return to
}

// mix says which successes of a group its percentiles are over.
func mix(g *load.Group) string {
	if g.Cache != "" {
		return string(g.Cache)
	}
	parts := make([]string, 0, len(g.States))
	for _, s := range g.States {
		parts = append(parts, fmt.Sprintf("%s %s", count(s.Count), cmp.Or(string(s.State), "without a state")))
	}
	return strings.Join(parts, ", ")
}

func (v *view) fillFindings() {
	names := make(map[int64]string, len(v.ByChart))
	for i := range v.ByChart {
		names[v.ByChart[i].Chart] = chartName(&v.ByChart[i])
	}
	shown := v.Report.Findings[:min(len(v.Report.Findings), mostTexts)]
	v.MoreFound = len(v.Report.Findings) - len(shown)
	for _, f := range shown {
		var digests, marks []string
		for i, d := range f.Digests {
			if i == 4 {
				digests = append(digests, fmt.Sprintf("and %d more", len(f.Digests)-i))
				break
			}
			digests = append(digests, fmt.Sprintf("%s × %s…", count(d.Count), d.SHA256[:min(len(d.SHA256), 12)]))
		}
		if f.TimeDependent {
			marks = append(marks, "time dependent")
		}
		if f.OrderOnly {
			marks = append(marks, "only the order differs")
		}
		v.Findings = append(v.Findings, finding{
			Chart: cmp.Or(names[f.Chart], "chart "+strconv.FormatInt(f.Chart, 10)), Role: short(f.Role, mostRunes), TimeRange: short(f.TimeRange, mostRunes),
			Digests: strings.Join(digests, ", "), Marks: cmp.Or(strings.Join(marks, ", "), "–"),
		})
	}
}

// When writes a time of the report.
func (v *view) When(at time.Time) string {
	if at.IsZero() {
		return "–"
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// EndingWords says how the run ended.
func (v *view) EndingWords() string {
	if v.Ending == "" {
		return string(v.State)
	}
	return strings.ReplaceAll(string(v.Ending), "_", " ")
}

func ms(m *timing.Milliseconds) string {
	if m == nil {
		return "–"
	}
	d := time.Duration(*m)
	switch {
	case d >= 100*time.Millisecond:
		return count(int((d + time.Millisecond/2) / time.Millisecond))
	case d >= time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64)
	}
	return m.String()
}

// count groups digits by thousands.
func count(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func rate(r *timing.Rate) string {
	switch {
	case r == nil || r.Whole == 0:
		return "–"
	case r.Part == 0:
		return "0 %"
	}
	percent := 100 * float64(r.Part) / float64(r.Whole)
	// Few failures are not none, and nearly all are not all.
	if percent < 0.01 {
		return "< 0.01 %"
	}
	if text := strconv.FormatFloat(percent, 'f', 2, 64); text != "100.00" || r.Part == r.Whole {
		return strings.TrimSuffix(text, ".00") + " %"
	}
	return "> 99.99 %"
}

// short cuts a text, whose length others decide.
func short(text string, most int) string {
	text = strings.ToValidUTF8(text, "�")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
