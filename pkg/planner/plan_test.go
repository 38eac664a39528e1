package planner_test

import (
	"errors"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// generator is a plan that knows only how to yield.
type generator struct {
	length int
	all    func(yield func(planner.Chunk) bool)
}

func (g generator) Len() int                     { return g.length }
func (g generator) All() iter.Seq[planner.Chunk] { return g.all }

// misindexed finds other chunks than it yields.
type misindexed struct{ planner.List }

func (m misindexed) At(i int) planner.Chunk { return m.List[len(m.List)-1-i] }

func chunk(values service.Values) planner.Chunk { return planner.Chunk{Values: values} }

func chunksOf(n int) planner.List {
	list := make(planner.List, n)
	for i := range list {
		list[i] = chunk(service.Values{"a": {strconv.Itoa(i)}})
	}
	return list
}

func counting(n int, changed func(call, i int) int) func(func(planner.Chunk) bool) {
	calls := 0
	return func(yield func(planner.Chunk) bool) {
		calls++
		for i := range n {
			if !yield(chunk(service.Values{"a": {strconv.Itoa(changed(calls, i))}})) {
				return
			}
		}
	}
}

func same(_, i int) int { return i }

func TestAPlanFromElsewhereIsVerified(t *testing.T) {
	used := false
	shared := service.Values{"a": {"0"}}
	for name, test := range map[string]struct {
		plan planner.Plan
		want error
	}{
		"a list":             {chunksOf(3), nil},
		"a long list":        {chunksOf(300), nil},
		"a generator":        {generator{300, counting(300, same)}, nil},
		"nothing":            {planner.List{}, planner.ErrBrokenPlan},
		"a negative number":  {generator{-1, counting(0, same)}, planner.ErrBrokenPlan},
		"too many":           {generator{planner.MaxChunks + 1, counting(1, same)}, planner.ErrTooMany},
		"fewer than it says": {generator{3, counting(2, same)}, planner.ErrBrokenPlan},
		"more than it says":  {generator{2, counting(3, same)}, planner.ErrBrokenPlan},
		"endless":            {generator{2, counting(1<<40, same)}, planner.ErrBrokenPlan},
		"once only": {generator{2, func(yield func(planner.Chunk) bool) {
			if !used {
				used = true
				counting(2, same)(yield)
			}
		}}, planner.ErrBrokenPlan},
		"others each time": {generator{2, counting(2, func(call, i int) int { return call*i + i })}, planner.ErrBrokenPlan},
		"one map, changed": {generator{2, func(yield func(planner.Chunk) bool) {
			shared["a"] = []string{shared["a"][0] + "x"}
			if first := chunk(shared); yield(first) {
				yield(first)
			}
		}}, planner.ErrBrokenPlan},
		"another index": {misindexed{chunksOf(3)}, planner.ErrBrokenPlan},
	} {
		if err := planner.Verify(test.plan); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheChunkOfAPositionIsFoundInEveryPlan(t *testing.T) {
	c := gauges(t, "url_bytes: 200", "each: state", "pack: site")
	grid, err := planner.Divide(c, service.Values{"state": numbered("", 3), "site": numbered("s", 70)}, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := grid.(planner.Indexed); !ok {
		t.Error("a divided query is not indexed")
	}
	for name, plan := range map[string]planner.Plan{"grid": grid, "list": chunksOf(5), "generator": generator{5, counting(5, same)}} {
		i := 0
		for want := range plan.All() {
			got, ok := planner.ChunkAt(plan, i)
			if diff := cmp.Diff(want, got); diff != "" || !ok {
				t.Errorf("%s, %d: %t\n%s", name, i, ok, diff)
			}
			i++
		}
		for _, i := range []int{-1, plan.Len(), 1 << 40} {
			if _, ok := planner.ChunkAt(plan, i); ok {
				t.Errorf("%s has a chunk %d", name, i)
			}
		}
	}
	if _, ok := planner.ChunkAt(generator{5, counting(3, same)}, 4); ok {
		t.Error("a chunk that is not yielded is found")
	}
}

// A plan of a million chunks is streamed: what is alive while it is iterated does not grow.
func TestAPlanOfAMillionChunksTakesConstantMemory(t *testing.T) {
	c := parsed(t, "path: /c", "a: {type: text, many: comma}, e: {type: text}, time: {type: interval, of: date}",
		"each: e", "window: time, span: 1d", "pack: a")
	values := service.Values{"e": numbered("e", 100), "time": {"2020-01-01", "2020-04-09"}, "a": numbered("a", 100)}
	plan, err := planner.Divide(c, values, planner.Options{MaxChunks: 1_000_000})
	if err != nil || plan.Len() != 1_000_000 {
		t.Fatalf("%v, %v", plan, err)
	}
	alive := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, most, n := alive(), uint64(0), 0
	for range plan.All() {
		if n++; n%250_000 == 0 {
			most = max(most, alive())
		}
	}
	if n != plan.Len() {
		t.Errorf("it yields %d chunks", n)
	}
	if most > before+1<<20 {
		t.Errorf("%d bytes are alive while it is iterated, %d before", most, before)
	}
	runtime.KeepAlive(plan)
}

func TestAChunkIsDescribedInOneShortLine(t *testing.T) {
	for _, test := range []struct {
		values service.Values
		want   string
	}{
		{nil, "everything"},
		{
			service.Values{"site": numbered("USGS-", 350), "code": {"00060"}, "time": {"2020-01-01", ".."}},
			"site: 350 values from USGS-00000 to USGS-00349; time: 2020-01-01, ..; code: 00060",
		},
		{service.Values{"b": {"1"}, "a": {"2"}, "c": {}}, "a: 2; b: 1; c: no value"},
		{service.Values{"a": {"line\nline\x00\u202e" + strings.Repeat("é", 100)}}, "a: line line  " + strings.Repeat("é", 24) + "…"},
	} {
		if got := planner.Describe(chunk(test.values)); got != test.want {
			t.Errorf("it says %q, want %q", got, test.want)
		}
	}
	many := service.Values{}
	for _, name := range numbered("a_long_name_of_a_parameter_", 100) {
		many[name] = []string{strings.Repeat("x", 100)}
	}
	many[strings.Repeat("n", 500)] = numbered("x", 3)
	got := planner.Describe(chunk(many))
	if len(got) > 300 || !strings.HasSuffix(got, " more parameters") || got != planner.Describe(chunk(many)) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if huge := planner.Describe(chunk(service.Values{"a": slices.Repeat([]string{strings.Repeat("é", 500)}, 5)})); len(huge) > 300 {
		t.Errorf("%d bytes: %s", len(huge), huge)
	}
}
