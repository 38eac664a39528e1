package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

func TestSplitHalvesTheLongestListOrElseTheInterval(t *testing.T) {
	c := parsed(t, "path: /c",
		"e: {type: text}, a: {type: text, many: comma}, b: {type: text, many: comma}, f: {type: cql2_text}, time: {type: interval, of: date}, x: {type: text, many: comma}",
		"each: e", "pack: a", "pack: b", "clauses: f", "window: time, align: calendar_year")
	for name, test := range map[string]struct {
		values      service.Values
		left, right service.Values // what differs from values; nil: it cannot be divided
	}{
		"the longer list":       {service.Values{"a": {"1", "2"}, "b": {"1", "2", "3"}}, service.Values{"b": {"1"}}, service.Values{"b": {"2", "3"}}},
		"of two the first":      {service.Values{"a": {"1", "2"}, "b": {"1", "2"}}, service.Values{"a": {"1"}}, service.Values{"a": {"2"}}},
		"a filter in its text":  {service.Values{"a": {"1", "2"}, "f": {"a or b or c"}}, service.Values{"f": {"a"}}, service.Values{"f": {"b", "c"}}},
		"clauses":               {service.Values{"f": {"a", "b or"}}, service.Values{"f": {"a"}}, service.Values{"f": {"b or"}}},
		"an interval":           {service.Values{"a": {"1"}, "time": {"2020-01-01", "2020-01-04"}}, service.Values{"time": {"2020-01-01", "2020-01-02"}}, service.Values{"time": {"2020-01-03", "2020-01-04"}}},
		"an interval of years":  {service.Values{"time": {"2018-07-01", "2020-12-31"}}, service.Values{"time": {"2018-07-01", "2019-12-31"}}, service.Values{"time": {"2020-01-01", "2020-12-31"}}},
		"lists before interval": {service.Values{"a": {"1", "2"}, "time": {"2018-07-01", "2020-12-31"}}, service.Values{"a": {"1"}}, service.Values{"a": {"2"}}},
		"an open end":           {service.Values{"time": {"2024-05-16", ".."}}, service.Values{"time": {"2024-05-16", "2024-05-16"}}, service.Values{"time": {"2024-05-17", ".."}}},
		"an interval as one":    {service.Values{"time": {"2020-01-01/2020-01-04"}}, service.Values{"time": {"2020-01-01", "2020-01-02"}}, service.Values{"time": {"2020-01-03", "2020-01-04"}}},
		"an open beginning":     {service.Values{"time": {"..", "2024-05-16"}}, nil, nil},
		"today":                 {service.Values{"time": {"2024-05-17", ".."}}, nil, nil},
		"one day":               {service.Values{"time": {"2024-05-17", "2024-05-17"}}, nil, nil},
		"an instant":            {service.Values{"time": {"2024-05-17"}}, nil, nil},
		"single values":         {service.Values{"a": {"1"}, "b": {"1"}, "f": {"(a or b)"}}, nil, nil},
		"a list on no axis":     {service.Values{"x": {"1", "2"}, "e": {"1"}}, nil, nil},
		"nothing":               {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			chunk := planner.Chunk{Values: test.values}
			halves, ok := planner.Split(c, chunk, planner.Options{Now: now()})
			if ok != (test.left != nil) {
				t.Fatalf("%t, %v", ok, halves)
			}
			if planner.Divisible(c, chunk) != ok && name != "today" {
				t.Errorf("Divisible says %t", !ok)
			}
			if !ok {
				return
			}
			for i, want := range []service.Values{test.left, test.right} {
				for name, values := range test.values {
					if _, differs := want[name]; !differs {
						want[name] = values
					}
				}
				if diff := cmp.Diff(want, halves[i].Values); diff != "" {
					t.Errorf("half %d:\n%s", i, diff)
				}
			}
		})
	}
}

// leaves splits until nothing can be divided, and gives what is left in order.
func leaves(t *rapid.T, c *service.Collection, chunk planner.Chunk, opts planner.Options, depth int) []planner.Chunk {
	t.Helper()
	if depth > 60 {
		t.Fatalf("it does not end: %v", chunk.Values)
	}
	halves, ok := planner.Split(c, chunk, opts)
	if ok && !planner.Divisible(c, chunk) {
		t.Fatalf("it was divided, and is not divisible: %v", chunk.Values)
	}
	if !ok {
		if planner.Divisible(c, chunk) {
			t.Fatalf("it was not divided, and is divisible: %v", chunk.Values)
		}
		return []planner.Chunk{chunk}
	}
	again, _ := planner.Split(c, chunk, opts)
	if diff := cmp.Diff(halves, again); diff != "" {
		t.Fatalf("split again, the halves are others:\n%s", diff)
	}
	return append(leaves(t, c, halves[0], opts, depth+1), leaves(t, c, halves[1], opts, depth+1)...)
}

func TestSplitsEndInSingleValuesThatAskTheWholeOnceAndInOrder(t *testing.T) {
	c := parsed(t, "path: /c", "a: {type: text, many: comma}, b: {type: text, many: repeat}, f: {type: cql2_text}", "pack: a", "pack: b", "clauses: f")
	rapid.Check(t, func(t *rapid.T) {
		whole := service.Values{"a": distinct(1, 9).Draw(t, "a"), "b": distinct(1, 4).Draw(t, "b")}
		clauses := numbered("x = 'y OR z' AND n = ", rapid.IntRange(1, 5).Draw(t, "clauses"))
		whole["f"] = []string{strings.Join(clauses, rapid.SampledFrom([]string{" OR ", "\nor "}).Draw(t, "or"))}
		if rapid.Bool().Draw(t, "divided already") {
			whole["f"] = clauses
		}
		opts := planner.Options{Now: now()}
		var got []string
		for _, leaf := range leaves(t, c, planner.Chunk{Values: whole}, opts, 0) {
			v := leaf.Values
			if len(v["a"]) != 1 || len(v["b"]) != 1 || len(v["f"]) != 1 {
				t.Fatalf("%v is left", v)
			}
			got = append(got, v["a"][0]+"|"+v["b"][0]+"|"+v["f"][0])
		}
		want := map[string]bool{}
		for _, a := range whole["a"] {
			for _, b := range whole["b"] {
				for _, clause := range clauses {
					want[a+"|"+b+"|"+clause] = true
				}
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d leaves, want %d", len(got), len(want))
		}
		for _, leaf := range got {
			if !want[leaf] {
				t.Fatalf("%q is asked twice or was not asked for", leaf)
			}
			delete(want, leaf)
		}
		// Each axis alone is in order: halves never change places.
		rank := slices.Index[[]string]
		for i := 1; i < len(got); i++ {
			p, q := strings.Split(got[i-1], "|"), strings.Split(got[i], "|")
			if rank(whole["a"], p[0]) > rank(whole["a"], q[0]) && rank(whole["b"], p[1]) > rank(whole["b"], q[1]) && rank(clauses, p[2]) > rank(clauses, q[2]) {
				t.Fatalf("%q comes before %q", got[i-1], got[i])
			}
		}
	})
}

func TestSplitsOfAnIntervalAskForEachStepOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawInterval(t)
		if d.unit.of == "timestamp" {
			d.to = d.from.Add(d.to.Sub(d.from) / 1_000_000)
			d.to = d.to.Truncate(1_000_000_000)
		}
		if d.to.Before(d.from) {
			d.to = d.from
		}
		c := d.collection(t, "")
		whole := planner.Chunk{Values: service.Values{"site": {"a"}, "time": {d.text(d.from), d.text(d.to)}}}
		var all [][]string
		for _, leaf := range leaves(t, c, whole, planner.Options{Now: now()}, 0) {
			all = append(all, leaf.Values["time"])
		}
		starts, ends := d.checkCover(t, all)
		for i := range starts {
			longest := 1
			if d.shared {
				longest = 2
			}
			if d.unit.step(starts[i], longest-1).Before(ends[i]) {
				t.Fatalf("%q is left", all[i])
			}
		}
	})
}

func TestSplitsOfAnOpenIntervalEnd(t *testing.T) {
	for _, of := range []string{"date", "month", "year", "timestamp"} {
		from := map[string]string{"date": "2024-05-01", "month": "2023-01", "year": "2001", "timestamp": "2024-05-17T18:45:00Z"}[of]
		for _, boundary := range []string{"step", "shared"} {
			c := timed(t, of, ", align: month, boundary: "+boundary)
			chunk := planner.Chunk{Values: service.Values{"time": {from, ".."}}}
			n := 0
			for {
				halves, ok := planner.Split(c, chunk, planner.Options{Now: now()})
				if !ok {
					break
				}
				if n++; n > 40 || halves[1].Values["time"][1] != ".." || halves[0].Values["time"][1] == ".." {
					t.Fatalf("%s: %v", of, halves)
				}
				chunk = halves[1]
			}
			if n == 0 || strings.HasPrefix(chunk.Values["time"][0], from) {
				t.Errorf("%s: %d splits, %v is left", of, n, chunk.Values)
			}
		}
	}
}

func TestSplitLeavesTheChunkAsItWas(t *testing.T) {
	c := parsed(t, "path: /c", "a: {type: text, many: comma}", "pack: a")
	values := service.Values{"a": numbered("v", 4)}
	halves, _ := planner.Split(c, planner.Chunk{Values: values}, planner.Options{})
	halves[0].Values["a"] = append(halves[0].Values["a"], "mine")
	if diff := cmp.Diff(numbered("v", 4), values["a"]); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(halves[1].Values["a"]); got != "[v00002 v00003]" {
		t.Error(got)
	}
}
