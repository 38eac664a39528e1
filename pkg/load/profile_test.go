package load_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func TestAProfileFileIsReadKeyByKey(t *testing.T) {
	text, err := os.ReadFile("testdata/profile.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := load.ParseProfile("profile.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	want := &load.Profile{
		V: 1, ID: "sales-overview", Name: "Sales overview before the release", Environment: "superset-preprod", Dashboard: "sales", Charts: []int64{118, 121},
		Axes: json.RawMessage(`{"filters":[[],[{"col":"region","op":"in","val":["EU","APAC"]}],[{"col":"year","op":"==","val":2026},{"col":"active","op":"==","val":true},{"col":"code","op":"==","val":"00060"}]],` +
			`"viewport":[{"width":1440,"height":900}],"role":["Gamma","7"],"time_range":["Last week","2026-01-01 : 2026-02-01"]}`),
		Cap: 500, Seed: 7, Concurrency: 10,
		Stages:  []load.Stage{{Concurrency: 2, Executions: 20}, {Concurrency: 5, Lasts: 90 * time.Second}, {Concurrency: 10}},
		Arrival: &load.Arrival{PerSecond: 2.5, Patience: 3 * time.Second}, WarmUp: 4, Force: true, Preflight: true, Deadline: 30 * time.Second, Drain: 20 * time.Second,
		Breaker: load.BreakerRules{
			Window: 50, Minimum: 10, ErrorRate: "0.1", Multiplier: "2.5", ReferenceP99: "400", AbsoluteP99: "2000.5", Excluded: []string{"forbidden"},
		},
		Thresholds: []load.Threshold{{Metric: "upstream_latency_ms.p95", Chart: 118, Cache: "miss", Max: "800"}, {Metric: "hit_rate", Role: "Gamma", Min: "0.5"}},
		Sample:     load.SampleBounds{Rows: 10, Bytes: 1000}, Reference: "run-1", Labels: map[string]string{"release": "2026.4"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

const leastProfile = "schema: load/v1\nenvironment: preprod\ndashboard: 12\nconcurrency: 5\n"

func TestAProfileFileWithoutMoreHasTheDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"profiles/weekly-sales.yaml":   leastProfile,
		`C:\profiles\weekly-sales.yml`: "schema: load/v1\nenvironment: preprod\ndashboard: 12\nconcurrency: 5\naxes:\n",
		"weekly-sales.json":            `{"schema": "load/v1", "environment": "preprod", "dashboard": "12", "concurrency": 5, "axes": {}}`,
	} {
		got, err := load.ParseProfile(name, []byte(text))
		want := &load.Profile{
			V: 1, ID: "weekly-sales", Name: "weekly-sales", Environment: "preprod", Dashboard: "12", Axes: json.RawMessage("{}"), Cap: 500, Concurrency: 5,
			Deadline: 65 * time.Second, Drain: 60 * time.Second, Breaker: load.BreakerRules{Window: 100, Minimum: 20, ErrorRate: "0.25", Multiplier: "3"},
			Sample: load.SampleBounds{Rows: 100, Bytes: 262_144},
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v: %s", name, err, diff)
		}
	}
	p := &load.Profile{ID: "a", Environment: "e", Dashboard: "d", Concurrency: 1, Deadline: time.Second}
	if err := p.Validate(); err != nil || p.Drain != time.Second || p.Cap != 500 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestEveryMistakeOfAProfileFileHasItsLineAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		more string // lines behind the least profile, from line 5 on
		line int
		want []string
	}{
		{"warmup: 1", 5, []string{"warmup", "unknown key", "warm_up"}},
		{"axes:\n  colour: [red]", 6, []string{"axes", "no such axis", "time_range"}},
		{"axes:\n  role: []", 6, []string{"axes.role", "empty", "remove the axis"}},
		{"axes:\n  role:\n    - Gamma\n    - \"\"", 8, []string{"axes.role[1]", "text"}},
		{"axes:\n  filters:\n    - []\n    - [{col: a, op: IN, val: x}]", 8, []string{"axes.filters[1]", "list"}},
		{"axes:\n  viewport: [{width: \"1440\", height: 900}]", 6, []string{"axes.viewport[0]", "whole numbers"}},
		{"axes: []", 5, []string{"axes", "object"}},
		{"cap: 0", 5, []string{"cap", "0"}},
		{"cap: 10001", 5, []string{"cap", "1 to 10000"}},
		{"seed: -1", 5, []string{"seed", "0 or more"}},
		{"charts: [3, 3]", 5, []string{"charts[1]", "remove"}},
		{"charts: [0]", 5, []string{"charts[0]", "1 or more"}},
		{"stages:\n  - {concurrency: 1}\n  - {concurrency: 2}", 6, []string{"stages[0]", "no end"}},
		{"stages:\n  - {concurrency: 1, executions: 5, lasts: 5s}", 6, []string{"stages[0]", "one of them"}},
		{"stages:\n  - {concurrency: 6}", 6, []string{"stages[0].concurrency", "1 to 5"}},
		{"arrival: {per_second: 0}", 5, []string{"arrival.per_second", "above 0"}},
		{"arrival: {per_second: 1, patience: 1h}", 5, []string{"arrival.patience", "10m"}},
		{"deadline: 5", 5, []string{"deadline", "unit"}},
		{"deadline: 0s", 5, []string{"deadline", "0"}},
		{"drain: 1h", 5, []string{"drain", "10m"}},
		{"breaker: {window: 0}", 5, []string{"breaker.window", "0"}},
		{"breaker: {window: 10, minimum: 11}", 5, []string{"breaker.minimum", "1 to 10"}},
		{"breaker: {error_rate: 1.5}", 5, []string{"breaker.error_rate", "at most 1"}},
		{"breaker: {error_rate: 25%}", 5, []string{"breaker.error_rate", "0.25"}},
		{"breaker: {absolute_p99_ms: 0}", 5, []string{"breaker.absolute_p99_ms", "want more"}},
		{"breaker: {excluded: [server_error]}", 5, []string{"breaker.excluded[0]", "forbidden"}},
		{"thresholds:\n  - {metric: p95, max: 5}", 6, []string{"thresholds[0].metric", "upstream_latency_ms"}},
		{"thresholds:\n  - {metric: error_rate}", 6, []string{"thresholds[0]", "max or min"}},
		{"thresholds:\n  - {metric: error_rate, max: 2}", 6, []string{"thresholds[0].max", "0 to 1"}},
		{"thresholds:\n  - {metric: error_rate, cache: hit, max: 1}", 6, []string{"thresholds[0].cache", "does not go"}},
		{"thresholds:\n  - {metric: end_to_end_ms.p50, cache: warm, max: -1}", 6, []string{"thresholds[0].cache", "bypassed"}},
		{"thresholds:\n  - {metric: end_to_end_ms.p50, max: -1}", 6, []string{"thresholds[0].max", "decimal"}},
		{"sample: {rows: 101}", 5, []string{"sample.rows", "1 to 100"}},
		{"sample: {bytes: 300000}", 5, []string{"sample.bytes", "262144"}},
		{"labels: {a: \"x\\ty\"}", 5, []string{"labels.a", "control"}},
		{"id: Sales", 5, []string{"id", "lower-case"}},
		{"force: yes", 5, []string{"force", "true nor false"}},
		{"tab: &x 1", 5, []string{"anchor"}},
	} {
		_, err := load.ParseProfile("p.yaml", []byte(leastProfile+c.more+"\n"))
		var all strictyaml.Errors
		if !errors.As(err, &all) {
			t.Errorf("%s gives %v", c.more, err)
			continue
		}
		if len(all) == 0 || all[0].Line != c.line {
			t.Errorf("%s gives %v, want line %d", c.more, err, c.line)
		}
		for _, word := range c.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s gives %v, want %q", c.more, err, word)
			}
		}
	}
	_, err := load.ParseProfile("Weekly Sales.yaml", []byte("schema: load/v2\nenvironment: e\ndashboard: d\nconcurrency: 1\n"))
	if err == nil || !strings.Contains(err.Error(), "load/v1") {
		t.Error(err)
	}
	_, err = load.ParseProfile("Weekly Sales.yaml", []byte(leastProfile+"cap: 99999\nsample: {rows: 0}\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("a 0 that is given: %v", err)
	}
	_, err = load.ParseProfile("Weekly Sales.yaml", []byte(leastProfile+"cap: 99999\nwarm_up: -1\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 || !strings.Contains(err.Error(), "id: is") {
		t.Errorf("not all of them are told: %v", err)
	}
}

func TestAProfileThatIsNotValidNamesItsKeys(t *testing.T) {
	p := &load.Profile{
		ID: "a", Environment: "e", Dashboard: "d", Concurrency: 0, Axes: json.RawMessage(`{"role":["x",""]}`), Cap: -1, Deadline: time.Hour,
		Thresholds: []load.Threshold{{Metric: "error_rate"}},
	}
	long := *p
	long.Axes = json.RawMessage(`{"role":["` + strings.Repeat("x", load.MaxAxesBytes) + `"]}`)
	if err := long.Validate(); err == nil || !strings.Contains(err.Error(), "axes: have") {
		t.Errorf("%.200v", err)
	}
	err := p.Validate()
	if !errors.Is(err, load.ErrProfile) {
		t.Fatal(err)
	}
	for _, want := range []string{"concurrency: ", "axes.role[1]: ", "cap: ", "deadline: ", "thresholds[0]: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte(leastProfile))
	if text, err := os.ReadFile("testdata/profile.yaml"); err == nil {
		f.Add(text)
	}
	f.Add([]byte(leastProfile + "axes: {filters: [[{col: a, op: in, val: [1, null, {a: b}]}]]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := load.ParseProfile("p.yaml", text)
		if err != nil {
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%q is read and not valid: %v", text, err)
		}
		stored, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%q cannot be stored: %v", text, err)
		}
		var back load.Profile
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
	})
}
