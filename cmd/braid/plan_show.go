package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// showPlan prints a plan: as JSON, or as what a person asks before spending anything.
func (a *app) showPlan(plan *messages.PlanSummary, p *prepared, k *asked) error {
	if a.json {
		return a.printJSON(plan)
	}
	show := func(label, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-10s %s\n", label, fmt.Sprintf(format, args...))
	}
	show("query", "%s · %s", plan.Service, plan.Collection)
	show("chunks", "%s", thousands(int64(plan.Chunks)))
	for _, name := range slices.Sorted(maps.Keys(plan.LargestValues)) {
		show("", "of %s at most %s in one", name, count(int64(plan.LargestValues[name]), "value"))
	}
	for _, line := range sizeLines(plan) {
		show(line.label, "%s", line.text)
	}
	show("requests", "%s", plannedRequests(plan))
	if plan.RequestsUnknown != "" {
		show("", "%s", plan.RequestsUnknown)
	}
	switch {
	case plan.EstimatedRows > 0:
		show("rows", "about %s%s", thousands(plan.EstimatedRows), perPage(plan))
	case plan.RowsUnknown != "":
		show("rows", "not known (%s)", plan.RowsUnknown)
	}
	if plan.MaxRows > 0 {
		show("", "the first %s of the plan; its chunks run one after another", count(plan.MaxRows, "row"))
	}
	for i, q := range plan.Quotas {
		for j, text := range a.quotaLines(q, plan) {
			show([]string{"quota", ""}[min(1, i+j)], "%s", text)
		}
	}
	if plan.Seconds > 0 {
		about := "about"
		if plan.ExpectedRequests == 0 {
			about = "at least"
		}
		show("time", "%s %s%s", about, roughly(plan.Seconds), waits(plan))
		show("", "reckoned with %s a request (assumed) and %s at a time", span(time.Duration(plan.Latency)*time.Millisecond), thousands(int64(min(plan.InFlight, plan.Chunks))))
	}
	for _, line := range requestLines(plan) {
		show(line.label, "%s", line.text)
	}
	for i, t := range p.targets {
		show([]string{"output", ""}[min(1, i)], "%s", targetText(t))
	}
	show("plan", "%.16s…", plan.Fingerprint)
	show("run it", "%s", a.runCommandLine(p, k))
	return nil
}

// requestLines are the first request and the last one.
func requestLines(plan *messages.PlanSummary) []step {
	var lines []step
	add := func(label, method, url, body string) {
		if url == "" {
			return // an adapter's requests are its own
		}
		lines = append(lines, step{label, method + " " + cut(url)})
		if body != "" {
			lines = append(lines, step{"", cut(body)})
		}
	}
	add("first", plan.Method, plan.FirstURL, plan.FirstBody)
	if plan.Chunks > 1 {
		add("last", plan.LastMethod, plan.LastURL, plan.LastBody)
	}
	return lines
}

func sizeLines(plan *messages.PlanSummary) []step {
	var lines []step
	if plan.LongestURLBytes > 0 { // an adapter's requests are its own
		lines = append(lines, step{"URL", ofLimit(plan.LongestURLBytes, plan.URLLimit)})
	}
	if plan.LongestBodyBytes > 0 {
		lines = append(lines, step{"body", ofLimit(plan.LongestBodyBytes, plan.BodyLimit)})
	}
	if plan.RequestLimit > 0 {
		lines = append(lines, step{"together", ofLimit(plan.LongestRequestBytes, plan.RequestLimit)})
	}
	return lines
}

func ofLimit(longest, limit int) string {
	if limit == 0 {
		return fmt.Sprintf("the longest has %s bytes; no limit is known", thousands(int64(longest)))
	}
	return fmt.Sprintf("the longest has %s of %s bytes", thousands(int64(longest)), thousands(int64(limit)))
}

func plannedRequests(plan *messages.PlanSummary) string {
	least := thousands(plan.LeastRequests) + " at least"
	switch {
	case plan.ExpectedRequests == 0:
		return least + "; how many are expected is not known"
	case plan.MostRequests == plan.LeastRequests:
		return count(plan.LeastRequests, "request") + ", one a chunk"
	case plan.MostRequests == 0:
		return fmt.Sprintf("%s expected; %s, the most is not known", thousands(plan.ExpectedRequests), least)
	}
	return fmt.Sprintf("%s expected; %s, %s at most", thousands(plan.ExpectedRequests), least, thousands(plan.MostRequests))
}

func perPage(plan *messages.PlanSummary) string {
	if plan.PageRows == 0 {
		return ""
	}
	return fmt.Sprintf(", at most %s in one answer", thousands(int64(plan.PageRows)))
}

// quotaLines tell what a quota allows, whether the plan fits into it, and whose limit is believed.
func (a *app) quotaLines(q messages.PlanQuota, plan *messages.PlanSummary) []string {
	window := roughly(q.Window)
	if q.Limit == 0 && q.Left == nil { // nothing of it is known: one reason says it all
		text := fmt.Sprintf("%s: how many %s it allows per %s is not known", q.Pool, q.Counts, window)
		switch {
		case q.Unknown != "":
			text += ": " + string(q.Unknown)
		case q.LeftUnknown != "":
			text += ": " + string(q.LeftUnknown)
		}
		return append([]string{text}, a.keyLines(q, plan)...)
	}
	var lines []string
	switch q.Limit {
	case 0:
		lines = append(lines, fmt.Sprintf("%s: how many %s it allows per %s is not known", q.Pool, q.Counts, window))
	default:
		text := fmt.Sprintf("%s: %s %s per %s", q.Pool, thousands(q.Limit), q.Counts, window)
		if q.HoldBack > 0 {
			text += fmt.Sprintf(", %s held back", thousands(q.HoldBack))
		}
		lines = append(lines, text)
	}
	lines = append(lines, leftLine(q))
	switch {
	case q.Windows > 1:
		about := "about"
		if q.Unknown != "" {
			about = "at least"
		}
		lines = append(lines, fmt.Sprintf("needs %s %s windows of %s", about, thousands(q.Windows), thousands(q.Limit-q.HoldBack)), begins(q, plan.Waited))
	case q.Unknown != "":
		lines = append(lines, "whether it fits into one window is not known:", string(q.Unknown))
	case q.Left != nil:
		lines = append(lines, "fits now, if nothing else spends it")
	default:
		lines = append(lines, "fits into one window, if nothing else spends it")
	}
	return append(lines, a.keyLines(q, plan)...)
}

// leftLine tells what is left of a quota now.
func leftLine(q messages.PlanQuota) string {
	switch {
	case q.Left == nil && q.LeftUnknown == "":
		return "how many are left is not known"
	case q.Left == nil:
		return "how many are left is not known: " + string(q.LeftUnknown)
	}
	text := fmt.Sprintf("%s of %s left now", thousands(*q.Left), thousands(q.Limit))
	if !q.Back.IsZero() {
		text += ", the next at " + moment(q.Back)
	}
	return text
}

// begins tells when the windows begin that a plan takes: window k begins k-1 windows after the start.
func begins(q messages.PlanQuota, waited int64) string {
	after := func(window int64) string {
		const hour = 60 * 60
		seconds := int64(math.MaxInt64)
		if q.Window == 0 || window <= math.MaxInt64/q.Window {
			seconds = window * q.Window
		}
		if seconds == hour {
			return "1 h"
		}
		return roughly(seconds)
	}
	const shown = 3
	last := q.Windows - 1
	switch {
	case waited == 0:
		return "and waits for none of them: its requests take longer"
	case q.Left != nil && *q.Left <= q.HoldBack && q.Model != "bucket":
		return "the first begins when units are back"
	case q.Model == "bucket":
		return "which come back little by little, the last " + after(last) + " after the start"
	}
	text := "the first begins at the start, others after "
	if q.Model == "fixed" {
		text = "one is running; the others begin within "
	}
	var times []string
	for window := int64(1); window <= min(last, shown); window++ {
		times = append(times, after(window))
	}
	text += strings.Join(times, ", ")
	switch {
	case last == shown+1:
		text += ", " + after(last)
	case last > shown:
		text += ", … " + after(last)
	}
	return text
}

// keyLines tell whether the limit is that of a key.
func (a *app) keyLines(q messages.PlanQuota, plan *messages.PlanSummary) []string {
	switch q.Key {
	case messages.KeyFound:
		return []string{"a key is set, and its limit is believed"}
	case messages.KeyUnknown:
		return []string{"the limit of a key is believed; whether the workers have one is not known here"}
	case messages.KeyMissing:
	default:
		return nil
	}
	text := "no key is set"
	switch {
	case q.Anonymous && q.Limit == 0:
		text += ", and the first answer tells the limit without one"
	case q.Anonymous:
		text += "; this is the limit without one"
	}
	lines := []string{text}
	if d, err := a.definitions().Open(plan.Service); err == nil {
		for _, credential := range d.CredentialsFor(d.BaseURL) {
			lines = append(lines, "a key goes into "+placesOf(credential))
			if credential.Signup != "" {
				lines = append(lines, "and comes from "+credential.Signup)
			}
		}
	}
	return lines
}

// placesOf says where a person puts a credential.
func placesOf(c service.Credential) string {
	var places []string
	for _, from := range c.From {
		switch from.Kind {
		case "env":
			places = append(places, "the variable "+from.Name)
		case "file":
			places = append(places, "the file "+from.Name)
		}
	}
	return strings.Join(places, " or ")
}

func waits(plan *messages.PlanSummary) string {
	if plan.Waited == 0 {
		return ""
	}
	return ", of which " + roughly(plan.Waited) + " wait for quota"
}

// roughly writes a number of seconds as people say it.
func roughly(seconds int64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	near := func(unit int64) int64 { return (seconds + unit/2) / unit }
	switch {
	case seconds < 2*minute:
		return count(seconds, "second")
	case seconds == hour:
		return "hour"
	case seconds < 2*hour:
		return fmt.Sprintf("%d min", near(minute))
	case seconds < 2*day:
		return fmt.Sprintf("%d h", near(hour))
	}
	return thousands(near(day)) + " days"
}

func targetText(t target) string {
	if t.path == "-" {
		return "stdout, as " + string(t.format)
	}
	if t.isPostgres() {
		return t.path + " (if it exists: " + string(t.into.ifExists) + ")"
	}
	if _, err := os.Stat(t.path); err == nil {
		return t.path + " (replaces the file that is there)"
	}
	return t.path + " (new file)"
}

const shownURL = 300

// cut keeps a URL short enough to be read; --json has all of it.
func cut(url string) string {
	if len(url) <= shownURL {
		return url
	}
	return strings.ToValidUTF8(url[:shownURL], "") + "…"
}
