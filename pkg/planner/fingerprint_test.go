package planner_test

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

func fingerprint(t tb, p planner.Plan) string {
	t.Helper()
	f, err := planner.Fingerprint(p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A fingerprint is stored with each query: another one for the same plan would end every resume of a query begun before.
func TestTheFingerprintOfAPlanStaysForEver(t *testing.T) {
	plan := planner.List{
		{Values: service.Values{"site": {"a", "b"}, "state": {"WI"}}}, {Values: service.Values{"site": {"c"}, "state": {"WI"}}},
	}
	const want = "2cf8c64e396bae3f26e1b48032385d0ab6fe2aee638bb37588769c0ca7033318"
	if got := fingerprint(t, plan); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDifferentPlansHaveDifferentFingerprints(t *testing.T) {
	chunk := func(values service.Values) planner.Chunk { return planner.Chunk{Values: values} }
	plans := map[string]planner.List{
		"two values":         {chunk(service.Values{"a": {"b", "c"}})},
		"one value":          {chunk(service.Values{"a": {"bc"}})},
		"the other order":    {chunk(service.Values{"a": {"c", "b"}})},
		"two chunks":         {chunk(service.Values{"a": {"b"}}), chunk(service.Values{"a": {"c"}})},
		"their other order":  {chunk(service.Values{"a": {"c"}}), chunk(service.Values{"a": {"b"}})},
		"another name":       {chunk(service.Values{"ab": {"c"}})},
		"two names":          {chunk(service.Values{"a": {"b"}, "c": {}})},
		"an empty value":     {chunk(service.Values{"a": {"b", "c", ""}})},
		"a zero byte":        {chunk(service.Values{"a": {"b\x00c"}})},
		"no values":          {chunk(service.Values{})},
		"no values twice":    {chunk(service.Values{}), chunk(service.Values{})},
		"a name, no value":   {chunk(service.Values{"a": {}})},
		"a chunk and a name": {chunk(service.Values{"a": {"b"}}), chunk(service.Values{"c": {}})},
		"one empty value":    {chunk(service.Values{"a": {""}})},
		"a chunk more":       {chunk(service.Values{"a": {"b", "c"}}), chunk(service.Values{})},
		"upper case":         {chunk(service.Values{"A": {"b", "c"}})},
	}
	seen := map[string]string{}
	for name, plan := range plans {
		f := fingerprint(t, plan)
		if other, taken := seen[f]; taken {
			t.Errorf("%q and %q have one fingerprint", name, other)
		}
		seen[f] = name
	}
}

// changed is a query that differs from another one in one respect, or in none.
func changed(t *rapid.T, values service.Values, opts planner.Options) (service.Values, planner.Options) {
	t.Helper()
	values = maps.Clone(values)
	param := rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, "param")
	list := slices.Clone(values[param])
	at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
	switch rapid.SampledFrom([]string{"nothing", "value", "order", "more", "max_chunks"}).Draw(t, "change") {
	case "nothing":
	case "value":
		list[at] += "x"
	case "order":
		list[0], list[at] = list[at], list[0]
	case "more":
		list = append(list, "another")
	case "max_chunks":
		opts.MaxChunks = rapid.IntRange(0, 20).Draw(t, "other max_chunks")
	}
	values[param] = list
	return values, opts
}

func TestTheFingerprintChangesWithThePlanAndOnlyThen(t *testing.T) {
	c := gauges(t, "url_bytes: 200", "each: state", "pack: site")
	rapid.Check(t, func(t *rapid.T) {
		a := service.Values{"state": distinct(1, 4).Draw(t, "states"), "site": distinct(1, 10).Draw(t, "sites")}
		optsA := planner.Options{MaxChunks: rapid.IntRange(0, 20).Draw(t, "max_chunks")}
		b, optsB := changed(t, a, optsA)
		planA, errA := planner.Divide(c, a, optsA)
		planB, errB := planner.Divide(c, b, optsB)
		if errA != nil || errB != nil {
			t.Skip("a value is too long")
		}
		same := cmp.Equal(slices.Collect(planA.All()), slices.Collect(planB.All()))
		if (fingerprint(t, planA) == fingerprint(t, planB)) != same {
			t.Fatalf("the plans of %v %+v and %v %+v are the same: %t; their fingerprints say otherwise", a, optsA, b, optsB, same)
		}
	})
}

func TestEqualQueriesAreDividedEqually(t *testing.T) {
	axes := []string{"each: state", "pack: site", "pack: tag"}
	one, other := gauges(t, "", axes...), gauges(t, "", axes...)
	rapid.Check(t, func(t *rapid.T) {
		values := service.Values{
			"state": distinct(1, 3).Draw(t, "states"), "site": distinct(1, 10).Draw(t, "sites"), "tag": distinct(1, 5).Draw(t, "tags"),
			"code": {"c"}, "county": {"d"}, "day": {"2025-01-01", "2025-01-31"},
		}
		opts := planner.Options{MaxChunks: rapid.IntRange(0, 20).Draw(t, "max_chunks")}
		limit, rows := rapid.IntRange(200, 400).Draw(t, "limit"), rapid.Int64Range(0, 90).Draw(t, "chunk_rows")
		first, err := planner.Divide(limited(one, limit, rows), values, opts)
		if err != nil {
			t.Skip("a value is too long")
		}
		for range 3 {
			again := divided(t, limited(other, limit, rows), maps.Clone(values), opts)
			if diff := cmp.Diff(slices.Collect(first.All()), again); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// wrong is a plan that yields another number of chunks than it says.
type wrong struct{ says, yields int }

func (w wrong) Len() int { return w.says }

func (w wrong) All() iter.Seq[planner.Chunk] {
	return func(yield func(planner.Chunk) bool) {
		for range w.yields {
			if !yield(planner.Chunk{}) {
				return
			}
		}
	}
}

func TestAPlanThatMiscountsHasNoFingerprint(t *testing.T) {
	for _, w := range []wrong{{2, 1}, {1, 2}, {0, 1}, {1, 1 << 60}} {
		if f, err := planner.Fingerprint(w); err == nil || !strings.Contains(err.Error(), "chunks") {
			t.Errorf("%+v has the fingerprint %s, %v", w, f, err)
		}
	}
}
