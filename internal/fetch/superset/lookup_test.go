package superset

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

func look(t *testing.T, r *rig, l load.LookUp) (*load.Snapshot, error) {
	t.Helper()
	l.Environment = "boards"
	return r.worker("a").LookUp(context.Background(), &l)
}

func TestADashboardIsLookedUpWithItsExclusions(t *testing.T) {
	for _, profile := range simulator.Profiles() {
		t.Run(string(profile), func(t *testing.T) {
			r := newRig(t, simulator.Config{Profile: profile})
			s, err := look(t, r, load.LookUp{Dashboard: "12", Role: "Gamma"})
			if err != nil {
				t.Fatal(err)
			}
			var charts []int64
			for _, chart := range s.Charts {
				charts = append(charts, chart.ID)
			}
			if want := []int64{101, 102, 103, 104, 105, 106, 107, 108, 109, 110}; !cmp.Equal(charts, want) {
				t.Errorf("charts %v, want %v", charts, want)
			}
			reasons := map[int64]string{}
			for _, excluded := range s.Excluded {
				reasons[excluded.Chart] = excluded.Reason
			}
			want := map[int64]string{131: noQueryContext, 132: legacyDataPath, 133: badQueryContext, 134: forbidden}
			if diff := cmp.Diff(want, reasons); diff != "" {
				t.Error(diff)
			}
			if s.Dashboard != 12 || s.Title == "" || s.ID == "" || s.Charts[2].Queries != 2 || len(s.Charts[0].Tabs) != 1 || s.Charts[0].ChangedOn == "" {
				t.Errorf("%+v", s)
			}
			if again, err := look(t, r, load.LookUp{Dashboard: "12", Role: "Gamma"}); err != nil || again.ID != s.ID || again.Dependents.Fingerprint != s.Dependents.Fingerprint {
				t.Errorf("looked up again: %v", err)
			}
			if r.counted() != 0 {
				t.Errorf("%d requests of charts were sent", r.counted())
			}
		})
	}
}

func TestALookUpIsOfATabOrOfCharts(t *testing.T) {
	r := newRig(t, simulator.Config{})
	all, err := look(t, r, load.LookUp{Dashboard: "12"})
	if err != nil {
		t.Fatal(err)
	}
	tab := all.Charts[len(all.Charts)-1].Tabs[0]
	some, err := look(t, r, load.LookUp{Dashboard: "12", Tab: tab})
	if err != nil {
		t.Fatal(err)
	}
	for _, chart := range some.Charts {
		if !slices.Contains(chart.Tabs, tab) {
			t.Errorf("chart %d is on %v, and not on %s", chart.ID, chart.Tabs, tab)
		}
	}
	if len(some.Charts) == 0 || len(some.Charts) == len(all.Charts) || !slices.ContainsFunc(some.Excluded, func(e load.Excluded) bool { return e.Reason == otherTab }) {
		t.Errorf("%d charts on the tab %s, excluded %v", len(some.Charts), tab, some.Excluded)
	}
	two, err := look(t, r, load.LookUp{Dashboard: "12", Charts: []int64{104, 101}})
	if err != nil || len(two.Charts) != 2 || two.Charts[0].ID != 101 || two.Excluded[0].Reason != notSelected {
		t.Errorf("%+v, %v", two, err)
	}
	for name, l := range map[string]load.LookUp{
		"no tab": {Dashboard: "12", Tab: "Nowhere"}, "no chart": {Dashboard: "12", Charts: []int64{7}}, "no dashboard": {Dashboard: "none/../12"},
		"no role": {Dashboard: "12", Role: "Nobody else"},
	} {
		if _, err := look(t, r, l); !isLookUpError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func isLookUpError(err error) bool {
	_, ok := errors.AsType[*load.LookUpError](err)
	return ok
}

func TestLR_9_1_WhatDependsOnTheDataIsPartOfASnapshot(t *testing.T) {
	r := newRig(t, simulator.Config{})
	s, err := look(t, r, load.LookUp{Dashboard: "12"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Dependents.Fingerprint, "sha256:") || !slices.ContainsFunc(s.Dependents.Items, func(d load.Dependent) bool { return d.Kind == "dashboard" && d.ID == 13 }) {
		t.Errorf("dependents: %+v", s.Dependents)
	}
	r.SetDependents(31, &simulator.Dependents{Charts: []simulator.RelatedChart{{ID: 900, Name: "New"}}})
	after, err := look(t, r, load.LookUp{Dashboard: "12"})
	if err != nil || after.Dependents.Fingerprint == s.Dependents.Fingerprint {
		t.Errorf("another dependent leaves the fingerprint as it was: %v", err)
	}
}

func TestLR_9_5_WithoutTheDependentsThereIsNoSnapshot(t *testing.T) {
	r := newRig(t, simulator.Config{DependentsDown: true})
	_, err := look(t, r, load.LookUp{Dashboard: "12"})
	if refusal, ok := errors.AsType[*load.LookUpError](err); !ok || refusal.Status != 503 || refusal.Kind != load.GateDependentsUnknown || !strings.Contains(refusal.Message, load.Gateway) {
		t.Errorf("got %v", err)
	}
	r = newRig(t, simulator.Config{})
	if _, err := look(t, r, load.LookUp{Dashboard: "12", Role: "Sales"}); !isLookUpError(err) || !strings.Contains(err.Error(), "let a role look") || lookUpKind(err) != load.GateDependentsUnknown {
		t.Errorf("a role that may not read the datasets: %v", err)
	}
	if _, err := look(t, r, load.LookUp{Dashboard: "4711"}); !isLookUpError(err) || lookUpKind(err) != load.NotFound {
		t.Errorf("a dashboard that is not there: %v", err)
	}
	for _, text := range []string{`{}`, `{"charts": {"count": 2, "result": []}, "dashboards": {"result": []}}`, `{"charts": {"result": []}}`, `x`, `{"charts": {"result": [{}]}, "dashboards": {"result": []}}`} {
		if _, ok := dependentsOf([]byte(text), 1); ok {
			t.Errorf("%s is taken for a list of dependents", text)
		}
	}
}

func lookUpKind(err error) string {
	if refusal, ok := errors.AsType[*load.LookUpError](err); ok {
		return refusal.Kind
	}
	return ""
}

func TestFiltersTouchTheChartsInTheirScope(t *testing.T) {
	r := newRig(t, simulator.Config{})
	s, err := look(t, r, load.LookUp{Dashboard: "12"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Filters) == 0 {
		t.Fatal("the dashboard has no filters")
	}
	l := layoutOf(`{"ROOT_ID": {"type": "ROOT", "children": ["T1", "T2", "ROOT_ID"]}, "T1": {"type": "TAB", "meta": {"text": "One"}, "children": ["C1"]},
		"T2": {"type": "TAB", "children": ["C2", "C3"]}, "C1": {"type": "CHART", "meta": {"chartId": 1}}, "C2": {"type": "CHART", "meta": {"chartId": 2}}, "C3": {"type": "CHART", "meta": {"chartId": 3}}}`)
	got := nativeFilters(`{"native_filter_configuration": [
		{"id": "a", "name": "A", "targets": [{"datasetId": 1, "column": {"name": "x"}}, {"column": {"name": "x"}}], "chartsInScope": [3]},
		{"id": "b", "type": "DIVIDER"}, 7,
		{"id": "c", "type": "NATIVE_FILTER", "targets": [{}], "scope": {"rootPath": ["T2"], "excluded": [3]}},
		{"id": "d", "scope": {"rootPath": ["ROOT_ID"], "excluded": [1]}}]}`, l, []int64{1, 2, 3})
	want := []load.NativeFilter{
		{ID: "a", Name: "A", Columns: []string{"x"}, Charts: []int64{3}},
		{ID: "c", Columns: []string{}, Charts: []int64{2}},
		{ID: "d", Columns: []string{}, Charts: []int64{2, 3}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzDashboard(f *testing.F) {
	f.Add(`{"ROOT_ID": {"type": "ROOT", "children": ["A"]}, "A": {"type": "CHART", "meta": {"chartId": 1}, "children": ["ROOT_ID"]}}`, `{"native_filter_configuration": [{"scope": {"rootPath": ["A"]}}]}`)
	f.Add(`[]`, `{"native_filter_configuration": {"a": 1}}`)
	f.Fuzz(func(t *testing.T, position, metadata string) {
		l := layoutOf(position)
		for _, filter := range nativeFilters(metadata, l, []int64{1, 2}) {
			if len(filter.Charts) > 2 {
				t.Errorf("a filter touches %v", filter.Charts)
			}
		}
		dependentsOf([]byte(position), 1)
		asyncOf([]byte(metadata))
		lifetimeOf(position)
		var chart foundChart
		chart.setContext(position, chartResult(metadata))
		judge(400, nil, []byte(position))
	})
}

func chartResult(text string) gjson.Result { return gjson.Parse(text) }
