package load_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/load"
)

// dashboard has three charts: one in the scope of the filter region with a time range, one out of its scope with a time range, one without both.
func dashboard() *load.Snapshot {
	chart := func(id int64, query string) load.Chart {
		return load.Chart{ID: id, Name: fmt.Sprintf("chart %d", id), QueryContext: json.RawMessage(`{"queries":[` + query + `]}`)}
	}
	return &load.Snapshot{
		V: 1, Dashboard: 12, Title: "Sales", Charts: []load.Chart{chart(9, `{"time_range":"Last week"}`), chart(7, `{"time_range":"Last week"}`), chart(8, `{}`)},
		Filters:    []load.NativeFilter{{ID: "f", Columns: []string{"region"}, Charts: []int64{9}}},
		Excluded:   []load.Excluded{{Chart: 131, Name: "x", Reason: "no_query_context"}},
		Dependents: load.Dependents{Fingerprint: "sha256:9c41"},
	}
}

func profile(t testing.TB, axes string) *load.Profile {
	t.Helper()
	p := &load.Profile{ID: "prof-7", Revision: 3, Environment: "env", Dashboard: "12", Concurrency: 5, Seed: 7, Axes: json.RawMessage(axes)}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

func selected(t testing.TB, p *load.Profile, s *load.Snapshot) *load.Selection {
	t.Helper()
	selection, err := load.Select(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

func TestLR_8_9_WhatSendsTheSameIsARepeat(t *testing.T) {
	p := profile(t, `{"filters":[[],[{"col":"region","op":"==","val":"EU"}]],"viewport":[{"width":1,"height":1},{"width":2,"height":1}],"role":["A","B"],"time_range":["Last day","Last week"]}`)
	s := dashboard()
	got := selected(t, p, s)
	repeats := map[int64]int{}
	for number, earlier := range got.RepeatOf {
		v, c := got.Place(number, 3)
		w, d := got.Place(earlier, 3)
		if earlier >= number || c != d || got.Variations[v].Role != got.Variations[w].Role {
			t.Errorf("%d repeats %d", number, earlier)
		}
		repeats[s.Charts[c].ID]++
	}
	// Of 16 variations: filters × role × time range differ for chart 9, role × time range for 7, the role alone for 8.
	if diff := cmp.Diff(map[int64]int{9: 8, 7: 12, 8: 14}, repeats); diff != "" {
		t.Error(diff)
	}
	preview, err := load.PreviewOf(p, s, got, load.Environment{})
	if err != nil || preview.Total != 48 || preview.Distinct != 8+4+2 {
		t.Errorf("%+v, %v", preview, err)
	}
}

func TestLR_8_9_RepeatsAreExactlyTheEqualPayloadsOfARole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string, of []string) string {
			list, err := json.Marshal(rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 3, rapid.ID[string]).Draw(t, name))
			if err != nil {
				t.Fatal(err)
			}
			return string(list)
		}
		axes := fmt.Sprintf(`{"role":%s,"time_range":[null,%s,"filters":[[],[{"col":"region","op":"==","val":1}],[{"col":"other","op":"==","val":1},{"col":"region","op":"==","val":2}]]}`,
			some("roles", []string{"A", "B", "C"}), some("ranges", []string{"Last week", "Last day", "x"})[1:])
		p := &load.Profile{ID: "p", Environment: "e", Dashboard: "d", Concurrency: 1, Cap: rapid.IntRange(1, 30).Draw(t, "cap"), Axes: json.RawMessage(axes)}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		s := dashboard()
		s.Charts[2].QueryContext = json.RawMessage(`{"queries":[{"filters":[{"val":"Last day","op":"temporal_range"}]},{"time_range":"Last day","filters":[{"col":"d","op":"TEMPORAL_RANGE"}]}]}`)
		got, err := load.Select(p, s)
		if err != nil {
			t.Fatal(err)
		}
		want, first := map[int]int{}, map[string]int{}
		for number := range len(got.Variations) * len(s.Charts) {
			r := got.Request(number, p, s)
			body, err := load.Payload(r)
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint(r.Chart.ID, r.Variation.Role, string(body))
			if earlier, ok := first[key]; ok {
				want[number] = earlier
			} else {
				first[key] = number
			}
		}
		if diff := cmp.Diff(want, got.RepeatOf); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLR_1_2_ExecutionsGoByVariationAndThenByChart(t *testing.T) {
	p, s := profile(t, `{"role":["A","B"]}`), dashboard()
	got := selected(t, p, s)
	var order []string
	for number := range 6 {
		r := got.Request(number, p, s)
		order = append(order, fmt.Sprint(r.Variation.Role, r.Chart.ID))
	}
	if diff := cmp.Diff([]string{"A9", "A7", "A8", "B9", "B7", "B8"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestLR_7_9_ThePreflightIsTheFirstExecutionOfEachChartAndRole(t *testing.T) {
	got := selected(t, profile(t, `{"role":["A","B"],"time_range":["x","y"]}`), dashboard())
	if diff := cmp.Diff([]int{0, 1, 2, 6, 7, 8}, got.Preflight(3)); diff != "" {
		t.Error(diff)
	}
}

func TestLR_8_6_APreviewTellsWhatWouldBeSent(t *testing.T) {
	p, s := profile(t, `{"role":["A","B"]}`), dashboard()
	p.Force = true
	got, err := load.PreviewOf(p, s, selected(t, p, s), load.Environment{Stage: "PROD"})
	if err != nil {
		t.Fatal(err)
	}
	inputs := load.GateInputs{Profile: "prof-7", Revision: 3, Effective: 5, Estimated: 6, Environment: "env", Fingerprint: "sha256:9c41"}
	hash, err := load.GateHash(inputs)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := load.Capacity(5, load.Environment{Stage: "PROD"})
	if err != nil {
		t.Fatal(err)
	}
	want := &load.Preview{
		Theoretical: "2", Selected: 2, Cap: 500, Seed: 7, Charts: 3, Excluded: s.Excluded, Total: 6, Distinct: 6, Capacity: terms,
		Gate: load.Gate{Class: load.Prod, Inputs: inputs, Hash: hash, Needs: []string{"load:run", "load:prod"}, Approval: true, RewritesCache: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLR_10_2_OnlyPRODNeedsAnApproval(t *testing.T) {
	p, s := profile(t, "{}"), dashboard()
	for _, e := range []load.Environment{{}, {Stage: "dev"}, {Stage: "PREPROD"}} {
		got, err := load.PreviewOf(p, s, selected(t, p, s), e)
		if err != nil || got.Gate.Approval || len(got.Gate.Needs) != 1 || got.Gate.RewritesCache {
			t.Errorf("%+v: %+v, %v", e, got, err)
		}
	}
	if got, err := load.PreviewOf(p, s, selected(t, p, s), load.Environment{Stage: "DEV", IsProduction: true}); err != nil || !got.Gate.Approval {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := load.PreviewOf(p, s, selected(t, p, s), load.Environment{Stage: "staging"}); !errors.Is(err, load.ErrCapacity) {
		t.Error(err)
	}
}

func TestASelectionNeedsChartsThatCanBeSent(t *testing.T) {
	if _, err := load.Select(profile(t, "{}"), &load.Snapshot{}); !errors.Is(err, load.ErrNoCharts) {
		t.Error(err)
	}
	s := dashboard()
	s.Charts[1].QueryContext = json.RawMessage("{")
	if _, err := load.Select(profile(t, "{}"), s); !errors.Is(err, load.ErrQueryContext) {
		t.Error(err)
	}
	p := profile(t, "{}")
	p.Axes = json.RawMessage(`{"x":1}`)
	if _, err := load.Select(p, dashboard()); !errors.Is(err, load.ErrProfile) {
		t.Error(err)
	}
}
