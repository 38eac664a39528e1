package loadreport_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/loadreport"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

func quantiles(n int, ms ...float64) load.Quantiles {
	q := load.Quantiles{Samples: n}
	for i, to := range []**timing.Milliseconds{&q.P50, &q.P90, &q.P95, &q.P99} {
		if i < len(ms) {
			v := timing.Milliseconds(ms[i] * float64(time.Millisecond))
			*to = &v
		}
	}
	return q
}

func group(chart int64, cache load.CacheState, n int, p50 float64) load.Group {
	return load.Group{
		Chart: chart, Name: fmt.Sprintf("Orders by region and month, chart %d", chart), Cache: cache, Recorded: n + 2, Completed: n + 2, Success: n, Errors: 1, Timeouts: 1,
		ErrorRate: timing.RateOf(1, n+2), TimeoutRate: timing.RateOf(1, n+2), States: []load.CacheMix{{State: load.Hit, Count: n}},
		Queue: quantiles(n, 1000, 2000, 2500, 3000), Resource: quantiles(n, 0.1, 0.2, 0.3, 0.4), Upstream: quantiles(n, p50, 2*p50, 3*p50, 4.5*p50),
		EndToEnd: quantiles(n, 1000, 2000, 2500, 3000),
	}
}

// report of a run of so many charts, each with hits and misses.
func report(charts int) *load.Report {
	at := time.Date(2026, 9, 24, 14, 2, 10, 0, time.UTC)
	digest := strings.Repeat("5e", 32)
	r := &load.Report{
		V: 1, Run: "release-checks-k7f2", Profile: "release-checks", ProfileName: "Release checks", Revision: 3, Environment: "superset-eu", Dashboard: "sales",
		Title: "Sales", Owner: "ada", State: load.Ended, Ending: load.Completed, Created: at, Started: at, Closed: at.Add(time.Minute), Ended: at.Add(time.Minute),
		Capacity: load.Terms{Class: load.Prod, Requested: 10, EnvMax: 5, EnvMaxSource: "default", PoolRoom: 15, Ceiling: 25, EnvLoadLimit: 5, Effective: 5, Binding: []string{"env_max"}},
		Seed:     7, Theoretical: "4800", Selected: 500, ChartCount: charts, Selection: digest, Snapshot: digest, Fingerprint: "sha256:" + digest, Total: 500 * charts,
		RequestsSent: 500*charts + 3, Overall: group(0, "", 480*charts, 120), ByRole: []load.Group{group(0, "", 480*charts, 120)},
		ByCache: []load.Group{group(0, load.Hit, 300*charts, 12), group(0, load.Miss, 180*charts, 800)},
		Kinds:   []load.KindCount{{Outcome: load.Error, Kind: load.Gateway, Count: charts}, {Outcome: load.Timeout, Kind: load.Deadline, Count: charts}},
		Findings: []load.Finding{{
			Chart: 100, FiltersHash: digest, Role: "Gamma", TimeRange: "Last month", TimeDependent: true,
			Digests: []load.DigestCount{{SHA256: digest, Count: 7}, {SHA256: strings.Repeat("a7", 32), Count: 2}},
		}},
		Diagnostics: []load.Diagnostic{{Code: "small_sample_p99", Text: "2 groups have fewer than 100 samples", Count: 2}},
		Thresholds: []load.Judgement{
			{Threshold: load.Threshold{Metric: "upstream_latency_ms.p95", Cache: "hit", Max: "50"}, Observed: "36", Samples: 300, Passed: true},
			{Threshold: load.Threshold{Metric: "error_rate", Max: "0"}, Observed: "0.002", Samples: 500, Reason: "0.002 is above 0"},
		},
		Verdict: load.NotPassed,
		Breaker: load.BreakerStatus{State: "armed", Error: load.TriggerStatus{State: "armed", Observed: "0.002", Threshold: "0.25"}, Latency: load.TriggerStatus{State: "inactive", Reason: "no_reference"}},
	}
	for i := range charts {
		id := int64(100 + i)
		r.ChartIDs = append(r.ChartIDs, id)
		r.ByChart = append(r.ByChart, group(id, "", 480, 120))
		r.ByBoth = append(r.ByBoth, group(id, load.Hit, 300, 12), group(id, load.Miss, 80, 800+float64(i)))
	}
	return r
}

func written(t *testing.T, r *load.Report) string {
	t.Helper()
	page, err := loadreport.HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// elements are the tags of a page with their attributes, and its text. The page must be well formed but for what HTML leaves open.
func elements(t *testing.T, page string) (tags []xml.StartElement, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var words strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return tags, words.String()
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			tags = append(tags, token.Copy())
		case xml.CharData:
			words.Write(token)
			words.WriteByte(' ')
		}
	}
}

func TestTheReportIsOneFileThatAsksForNothing(t *testing.T) {
	page := written(t, report(9))
	if dir := os.Getenv("BRAID_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "load-report.html"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tags, text := elements(t, page)
	for _, tag := range tags {
		switch tag.Name.Local {
		case "script", "link", "img", "iframe", "object", "embed", "form", "base":
			t.Errorf("the page has <%s>", tag.Name.Local)
		}
		for _, a := range tag.Attr {
			if name := strings.ToLower(a.Name.Local); name == "src" || name == "href" || name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has %s=%q", tag.Name.Local, name, a.Value)
			}
		}
	}
	for _, never := range []string{"http:", "https:", "url(", "@import"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if !strings.Contains(page, "style-src &#39;sha256-") && !strings.Contains(page, "style-src 'sha256-") {
		t.Error("the page has no policy of its own")
	}
	for _, want := range []string{
		"Release checks", "✕ failed", "Orders by region and month, chart 104", "upstream_latency_ms.p95, cache hit", "0.002 is above 0", "no_reference", "binds", "Last month",
		"2 × a7a7a7a7a7a7…", "fewer than 100 samples", "4,320", "2026-09-24 14:02:10 UTC", "PROD",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !bytes.Equal([]byte(page), []byte(written(t, report(9)))) {
		t.Error("equal reports give other bytes")
	}
}

func TestTheSizeOfTheReportIsBounded(t *testing.T) {
	r := report(200)
	if page := written(t, r); len(page) > 300_000 {
		t.Errorf("%d bytes for 200 charts", len(page))
	}
	// The worst: every state of every chart, endless names, each name of characters that are written as longer ones.
	long := strings.Repeat("<", 100_000)
	for i := range r.ByChart {
		r.ByChart[i].Name = long
		for _, state := range []load.CacheState{load.Bypassed, load.Disabled, load.Mixed, load.Unknown} {
			r.ByBoth = append(r.ByBoth, group(r.ByChart[i].Chart, state, 80, 5))
		}
	}
	for i := range r.ByBoth {
		r.ByBoth[i].Name = long
	}
	for range 5000 {
		r.Findings = append(r.Findings, load.Finding{Chart: 100, Role: long, TimeRange: long, Digests: r.Findings[0].Digests})
		r.Diagnostics = append(r.Diagnostics, load.Diagnostic{Text: long})
		r.Thresholds = append(r.Thresholds, load.Judgement{Threshold: load.Threshold{Metric: long, Role: long}, Reason: long})
	}
	page := written(t, r)
	if len(page) > 1_500_000 {
		t.Errorf("%d bytes at the worst", len(page))
	}
	for _, more := range []string{"and 750 more rows", "and 4801 more in the report"} {
		if !strings.Contains(page, more) {
			t.Errorf("it does not say %q", more)
		}
	}
}

func TestTextsOfTheServerAreShownAsText(t *testing.T) {
	r := report(2)
	attack := `"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}` + "\xff\x00"
	r.ProfileName, r.Title, r.Dashboard, r.Reason, r.StoppedBy, r.Owner, r.Environment = attack, attack, attack, attack, attack, attack, attack
	r.ByChart[0].Name, r.ByBoth[0].Name, r.ByRole[0].Role = attack, attack, attack
	r.Thresholds[0].Role, r.Thresholds[1].Reason = attack, attack
	r.Findings[0].Role, r.Findings[0].TimeRange, r.Diagnostics[0].Text = attack, attack, attack
	r.Verdict, r.Ending, r.Kinds[0].Kind, r.Breaker.Latency.Reason = load.Verdict(attack), load.Ending(attack), attack, attack
	r.Labels = []load.Label{{Name: attack, Value: attack}}
	r.Findings[0].Digests[0].SHA256, r.ByCache[0].Cache = attack, load.CacheState(attack)
	page := written(t, r)
	for _, never := range []string{"<script", "<img"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the text is not shown")
	}
}

func TestARunWithoutNumbersHasAReport(t *testing.T) {
	_, text := elements(t, written(t, &load.Report{Run: "r", State: load.Preparing, Verdict: load.NotYetOver}))
	for _, want := range []string{"not over yet", "Nothing succeeded", "Nothing was recorded", "The profile sets none", "preparing"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

func FuzzNamesNeverBecomeMarkup(f *testing.F) {
	f.Add("a", "b")
	f.Add("<b>", "</style><script>")
	f.Fuzz(func(t *testing.T, name, reason string) {
		plain, r := report(1), report(1)
		plain.ByBoth[0].Name, plain.Thresholds[1].Reason, plain.Labels = "x", "x", []load.Label{{Name: "x", Value: "x"}}
		r.ByBoth[0].Name, r.Thresholds[1].Reason, r.Labels = "x"+name, "x"+reason, []load.Label{{Name: "x" + name, Value: "x" + reason}}
		if a, b := strings.Count(written(t, plain), "<"), strings.Count(written(t, r), "<"); a != b {
			t.Fatalf("%d tags instead of %d", b, a)
		}
	})
}
