package matrix_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner/matrix"
)

type vector struct {
	ID string `json:"id"`
	In struct {
		Kind  string   `json:"kind"`
		Text  string   `json:"input_json"`
		Texts []string `json:"inputs_json"`
	} `json:"in"`
	Want struct {
		Canonical   string   `json:"canonical"`
		ID          string   `json:"variation_id"`
		IDs         []string `json:"variation_ids"`
		FiltersHash string   `json:"filters_hash"`
		Error       string   `json:"error"`
	} `json:"want"`
}

func TestLR_8_2_CoordinatesNormaliseAsTheVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/canonical_json.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	normal := func(v vector, text string) matrix.Variation {
		got, err := matrix.Normalise(json.RawMessage(text))
		if err != nil {
			t.Errorf("%s: %s: %v", v.ID, text, err)
		}
		return got
	}
	seen := map[string]int{}
	for _, v := range file.Vectors {
		seen[v.In.Kind]++
		switch v.In.Kind {
		case "variation":
			if v.Want.Error != "" {
				got, err := matrix.Normalise(json.RawMessage(v.In.Text))
				var bad *matrix.Error
				if !errors.As(err, &bad) || string(bad.Code) != v.Want.Error {
					t.Errorf("%s gives %+v, %v, want %s", v.ID, got, err, v.Want.Error)
				}
				continue
			}
			got := normal(v, v.In.Text)
			if string(got.Coordinate) != v.Want.Canonical || got.ID != v.Want.ID || got.FiltersHash != v.Want.FiltersHash {
				t.Errorf("%s is %+v", v.ID, got)
			}
		case "equivalent":
			for _, text := range v.In.Texts {
				if got := normal(v, text); got.ID != v.Want.ID {
					t.Errorf("%s: %s has %s", v.ID, text, got.ID)
				}
			}
		case "distinct":
			for i, text := range v.In.Texts {
				if got := normal(v, text); got.ID != v.Want.IDs[i] {
					t.Errorf("%s: %s has %s", v.ID, text, got.ID)
				}
			}
		}
	}
	if seen["variation"] == 0 || seen["equivalent"] == 0 || seen["distinct"] == 0 {
		t.Errorf("vectors: %v", seen)
	}
}

func TestLR_8_3_TheExampleOfACoordinate(t *testing.T) {
	got, err := matrix.Normalise(json.RawMessage(`{"filters":[{"col":"region","op":"in","val":["EU","APAC"]}],"role":"Gamma","time_range":"Last month","viewport":{"width":1440,"height":900}}`))
	if err != nil || got.ID != "bbf7f0f5ccaefe244f3627b2883aebdbcef2e3377558186fa83cd2b4d21e4cae" ||
		got.FiltersHash != "7369d5edc725845ed1279795085b8d3766bac6a950e553d152d6a72d640453db" || got.Role != "Gamma" || got.TimeRange != "Last month" {
		t.Errorf("%+v, %v", got, err)
	}
	clauses, err := got.Filters()
	want := []matrix.Clause{{Column: "region", Operator: "IN", Value: json.RawMessage(`["APAC","EU"]`)}}
	if diff := cmp.Diff(want, clauses); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestLR_8_1_AxesThatCannotBeReadSayWhichValueIsAtFault(t *testing.T) {
	for text, want := range map[string]matrix.Error{
		`{"colour":[1]}`:                             {Code: matrix.UnknownAxis, Axis: "colour", Value: -1},
		`{"role":"Gamma"}`:                           {Code: matrix.BadAxis, Axis: "role", Value: -1},
		`{"role":[]}`:                                {Code: matrix.BadAxis, Axis: "role", Value: -1},
		`{"role":["a",""]}`:                          {Code: matrix.BadRole, Axis: "role", Value: 1},
		`{"role":["a",7]}`:                           {Code: matrix.BadRole, Axis: "role", Value: 1},
		`{"time_range":[["x"]]}`:                     {Code: matrix.BadTimeRange, Axis: "time_range", Value: 0},
		`{"viewport":[{"width":1,"height":-1}]}`:     {Code: matrix.BadViewport, Axis: "viewport", Value: 0},
		`{"viewport":[{"width":1.5,"height":1}]}`:    {Code: matrix.BadViewport, Axis: "viewport", Value: 0},
		`{"viewport":[{"width":1e30,"height":1}]}`:   {Code: matrix.BadViewport, Axis: "viewport", Value: 0},
		`{"viewport":[{"width":"1","height":1}]}`:    {Code: matrix.BadViewport, Axis: "viewport", Value: 0},
		`{"filters":[{"col":"a","op":"=="}]}`:        {Code: matrix.BadFilter, Axis: "filters", Value: 0},
		`{"filters":[[],[{"col":"a","op":" "}]]}`:    {Code: matrix.BadFilter, Axis: "filters", Value: 1},
		`{"filters":[[{"col":"a"}]]}`:                {Code: matrix.BadFilter, Axis: "filters", Value: 0},
		`{"filters":[[{"op":"=="}]]}`:                {Code: matrix.BadFilter, Axis: "filters", Value: 0},
		`{"filters":[[null]]}`:                       {Code: matrix.BadFilter, Axis: "filters", Value: 0},
		`{"filters":[[{"col":"a","op":"NOT  IN"}]]}`: {Code: matrix.BadFilter, Axis: "filters", Value: 0},
		`[]`:                      {Code: matrix.BadVariation, Value: -1},
		`null`:                    {Code: matrix.BadVariation, Value: -1},
		`{"role":["a"],"role":1}`: {Code: "duplicate_key", Value: -1},
		`{`:                       {Code: "invalid_json", Value: -1},
		`{"role":["\ud800"]}`:     {Code: "invalid_unicode", Value: -1},
	} {
		_, err := matrix.Parse(json.RawMessage(text))
		var bad *matrix.Error
		if !errors.As(err, &bad) || bad.Code != want.Code || bad.Axis != want.Axis || bad.Value != want.Value || bad.Message == "" {
			t.Errorf("%s gives %v, want %+v", text, err, want)
		}
	}
}

// numbered makes axes of so many roles, time ranges, viewports and filter lists; shuffled by the order given.
func numbered(t interface{ Fatal(...any) }, sizes [4]int, shuffle func(n int) []int) *matrix.Axes {
	order := func(n int) []int {
		if shuffle != nil {
			return shuffle(n)
		}
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	values := func(n int, format string) string {
		var texts []string
		for _, i := range order(n) {
			texts = append(texts, fmt.Sprintf(format, i+1))
		}
		return strings.Join(texts, ",")
	}
	text := fmt.Sprintf(`{"filters":[%s],"viewport":[%s],"role":[%s],"time_range":[%s]}`, values(sizes[0], `[{"col":"c","op":"==","val":%d}]`),
		values(sizes[1], `{"width":%d,"height":1}`), values(sizes[2], `"r%d"`), values(sizes[3], `"t%d"`))
	a, err := matrix.Parse(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ids(t interface{ Fatal(...any) }, a *matrix.Axes, limit int, seed uint64) []string {
	selected, err := matrix.Select(a, limit, seed)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(selected))
	for i, v := range selected {
		all[i] = v.ID
	}
	return all
}

func TestLR_8_4_TheCountIsExactBeyond64Bits(t *testing.T) {
	a := numbered(t, [4]int{20_000, matrix.MaxValues, matrix.MaxValues, matrix.MaxValues}, nil)
	want, _ := new(big.Int).SetString("20000000000000000000", 10)
	if got := a.Count(); got.Cmp(want) != 0 || got.BitLen() <= 64 {
		t.Errorf("%s, want %s", got, want)
	}
	selected := ids(t, a, 500, 1)
	slices.Sort(selected)
	if len(slices.Compact(selected)) != 500 {
		t.Error("coordinates came twice")
	}
	if one, err := matrix.Parse(nil); err != nil || one.Count().Int64() != 1 {
		t.Errorf("nothing varies: %v", err)
	}
}

func TestLR_8_2_DuplicatesOfAnAxisCountOnce(t *testing.T) {
	a, err := matrix.Parse(json.RawMessage(`{"role":["a","b","a"],"viewport":[{"width":1,"height":2},{"height":2.0,"width":1e0},null],
		"filters":[[{"col":"a","op":"in","val":[2,1]}],[{"op":"IN","col":"a","val":[1,2,1]}],null,[]],"time_range":null}`))
	if err != nil || a.Count().Int64() != 2*2*2 {
		t.Errorf("%v, %v", a.Count(), err)
	}
}

func TestLR_8_5_AllCoordinatesComeInTheOrderOfTheAxes(t *testing.T) {
	selected, err := matrix.Select(numbered(t, [4]int{2, 2, 2, 2}, nil), 16, 0)
	if err != nil || len(selected) != 16 {
		t.Fatal(len(selected), err)
	}
	var at []string
	for _, v := range selected {
		var c struct {
			Filters  []matrix.Clause
			Viewport struct{ Width int }
		}
		if err := json.Unmarshal(v.Coordinate, &c); err != nil {
			t.Fatal(err)
		}
		at = append(at, fmt.Sprint(string(c.Filters[0].Value), c.Viewport.Width, v.Role[1:], v.TimeRange[1:]))
	}
	if !slices.IsSorted(at) || len(slices.Compact(at)) != 16 {
		t.Error(at)
	}
}

func TestLR_8_8_1_EqualAxesCapAndSeedGiveTheSameSelectionInTheSameOrder(t *testing.T) {
	first := ids(t, numbered(t, [4]int{10, 10, 10, 10}, nil), 20, 7)
	if diff := cmp.Diff(first, ids(t, numbered(t, [4]int{10, 10, 10, 10}, nil), 20, 7)); diff != "" {
		t.Error(diff)
	}
	// In every process, on every machine, in every version: a change of this is a change of every stored profile's meaning.
	if want := "691c7966"; !strings.HasPrefix(first[0], want) {
		t.Errorf("the selection of the seed 7 begins with %s", first[0])
	}
}

func TestLR_8_8_2_TheOrderOfAnAxisChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := [4]int{3, 2, 4, 5}
		limit, seed := rapid.IntRange(1, 130).Draw(t, "cap"), rapid.Uint64().Draw(t, "seed")
		shuffled := numbered(t, sizes, func(n int) []int {
			all := make([]int, n)
			for i := range all {
				all[i] = i
			}
			return rapid.Permutation(all).Draw(t, "order")
		})
		if diff := cmp.Diff(ids(t, numbered(t, sizes, nil), limit, seed), ids(t, shuffled, limit, seed)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLR_8_8_3_EverySelectedCoordinateIsOneOfTheProductAndComesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5)
		a := numbered(t, [4]int{size.Draw(t, "filters"), size.Draw(t, "viewports"), size.Draw(t, "roles"), size.Draw(t, "ranges")}, nil)
		count := int(a.Count().Int64())
		all := ids(t, a, count, 0)
		limit := rapid.IntRange(1, 700).Draw(t, "cap")
		selected := ids(t, a, limit, rapid.Uint64().Draw(t, "seed"))
		at := -1
		for _, id := range selected {
			next := slices.Index(all, id)
			if next <= at {
				t.Fatalf("coordinate %d stands behind %d", next, at)
			}
			at = next
		}
		if len(selected) != min(limit, count) {
			t.Errorf("%d of %d", len(selected), count)
		}
	})
}

func TestLR_8_8_4_OtherSeedsGiveOtherSelections(t *testing.T) {
	a := numbered(t, [4]int{1, 1, 4, 5}, nil)
	sets := map[string]bool{}
	for seed := range uint64(100) {
		sets[strings.Join(ids(t, a, 10, seed), ",")] = true
	}
	if len(sets) < 95 {
		t.Errorf("%d distinct sets of 100 seeds", len(sets))
	}
}

func TestLR_8_8_5_EachCoordinateIsEquallyLikely(t *testing.T) {
	a := numbered(t, [4]int{1, 1, 8, 5}, nil)
	all := ids(t, a, 40, 0)
	counts := map[string]int{}
	const seeds = 4000
	for seed := range uint64(seeds) {
		for _, id := range ids(t, a, 10, seed) {
			counts[id]++
		}
	}
	for i, id := range all {
		if share := float64(counts[id]) / seeds; share < 0.21 || share > 0.29 {
			t.Errorf("coordinate %d is chosen with %.3f", i, share)
		}
	}
}

func TestLR_8_8_5_EachSubsetIsEquallyLikely(t *testing.T) {
	const seeds = 3000
	for _, c := range []struct{ n, limit, subsets int }{{2, 1, 2}, {4, 1, 4}, {4, 3, 4}, {5, 2, 10}} {
		a := numbered(t, [4]int{1, 1, 1, c.n}, nil)
		counts := map[string]int{}
		for seed := range uint64(seeds) {
			counts[strings.Join(ids(t, a, c.limit, seed), ",")]++
		}
		if len(counts) != c.subsets {
			t.Errorf("%d of %d: %d subsets", c.limit, c.n, len(counts))
		}
		for _, n := range counts {
			if share := float64(n) * float64(c.subsets) / seeds; share < 0.8 || share > 1.2 {
				t.Errorf("%d of %d: a subset comes %.2f times as often as it should", c.limit, c.n, share)
			}
		}
	}
}

func TestLR_8_8_6_AProductOfATrillionIsSampledAtOnce(t *testing.T) {
	begin := time.Now()
	a := numbered(t, [4]int{1000, 1000, 1000, 1000}, nil)
	allocated := testing.AllocsPerRun(1, func() { ids(t, a, 500, 3) })
	if took := time.Since(begin); took > 10*time.Second { // 20 ms on an idle machine, 1 s is demanded; a scan would take days
		t.Errorf("it took %s", took)
	}
	if allocated > 500*100 {
		t.Errorf("%.0f allocations for 500 coordinates", allocated)
	}
}

func TestLR_8_8_7_AnIndexIsOneCoordinate(t *testing.T) {
	for _, sizes := range [][4]int{{1, 1, 1, 1}, {2, 3, 4, 5}, {5, 1, 2, 1}, {1, 1, 1, 7}, {3, 1, 1, 1}} {
		a := numbered(t, sizes, nil)
		all := ids(t, a, 1000, 0)
		if int64(len(all)) != a.Count().Int64() {
			t.Errorf("%v has %d", sizes, len(all))
		}
		slices.Sort(all)
		if distinct := slices.Compact(all); int64(len(distinct)) != a.Count().Int64() {
			t.Errorf("%v has %d distinct ones", sizes, len(distinct))
		}
	}
}

func TestLR_8_8_8_TheEdgesOfTheCap(t *testing.T) {
	a := numbered(t, [4]int{2, 1, 3, 2}, nil)
	for limit, want := range map[int]int{12: 12, 11: 11, 13: 12, 1: 1} {
		if got := ids(t, a, limit, 5); len(got) != want {
			t.Errorf("cap %d gives %d", limit, len(got))
		}
	}
	for _, limit := range []int{0, -1, matrix.MaxCap + 1} {
		if _, err := matrix.Select(a, limit, 5); err == nil {
			t.Errorf("cap %d is taken", limit)
		}
	}
	if _, err := matrix.Parse(json.RawMessage(`{"filters":[]}`)); err == nil {
		t.Error("an empty axis is taken")
	}
}

func TestASelectionIsBoundedInBytes(t *testing.T) {
	roles := make([]string, 5000)
	for i := range roles {
		roles[i] = fmt.Sprintf("r%d", i)
	}
	text, err := json.Marshal(map[string]any{"role": roles, "filters": []any{[]any{map[string]any{"col": "c", "op": "==", "val": strings.Repeat("x", 20_000)}}}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := matrix.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := matrix.Select(a, 5000, 1); err == nil || !strings.Contains(err.Error(), "lower cap") {
		t.Error(err)
	}
	if _, err := matrix.Select(a, 500, 1); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"filters":[[{"col":"a","op":"in","val":[1,"1",true]}],[]],"viewport":[{"width":1440,"height":900},null],"role":["Gamma"],"time_range":["Last week"]}`))
	f.Add([]byte(`{"role":[],"x":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := matrix.Parse(text)
		if err != nil {
			if _, ok := errors.AsType[*matrix.Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		selected, err := matrix.Select(a, 3, 1)
		if err != nil || len(selected) == 0 {
			t.Fatalf("%q gives %d, %v", text, len(selected), err)
		}
		for _, v := range selected {
			if _, err := v.Filters(); err != nil || !json.Valid(v.Coordinate) {
				t.Errorf("%q: %s, %v", text, v.Coordinate, err)
			}
		}
	})
}
