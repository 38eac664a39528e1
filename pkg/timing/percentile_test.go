package timing_test

import (
	"encoding/json"
	"math/big"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/timing"
)

type vector struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	In       struct {
		Values   []float64       `json:"values"`
		Percents []string        `json:"p"`
		Samples  []vectorSamples `json:"samples"`
	} `json:"in"`
	Want map[string]json.RawMessage `json:"want"`
}

type vectorSamples struct {
	Outcome  string              `json:"outcome"`
	Queue    timing.Milliseconds `json:"queue_wait_ms"`
	Resource timing.Milliseconds `json:"resource_wait_ms"`
	Upstream timing.Milliseconds `json:"upstream_latency_ms"`
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/percentiles.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 20 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	return file.Vectors
}

func TestLR_3_4_APercentileIsTheElementOfTheNearestRank(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Category == "summary" {
			continue
		}
		slices.Sort(v.In.Values)
		if len(v.In.Percents) != len(v.Want) {
			t.Errorf("%s wants %d of %d", v.ID, len(v.Want), len(v.In.Percents))
		}
		for _, percent := range v.In.Percents {
			p, ok := new(big.Rat).SetString(percent)
			if !ok {
				t.Fatalf("%s: %q", v.ID, percent)
			}
			var want *struct {
				Rank  int     `json:"rank"`
				Value float64 `json:"value"`
			}
			if err := json.Unmarshal(v.Want[percent], &want); err != nil {
				t.Fatal(err)
			}
			rank, value, ok := timing.NearestRank(v.In.Values, p)
			if ok != (want != nil) || ok && (rank != want.Rank || value != want.Value) {
				t.Errorf("%s: p%s is %v at rank %d (%t), want %+v", v.ID, percent, value, rank, ok, want)
			}
		}
	}
}

// dimension is one of a summary in the vectors.
type dimension struct {
	Samples int                  `json:"sample_count"`
	P50     *timing.Milliseconds `json:"p50"`
	P90     *timing.Milliseconds `json:"p90"`
	P95     *timing.Milliseconds `json:"p95"`
	P99     *timing.Milliseconds `json:"p99"`
}

func of(p timing.Percentiles) dimension {
	ms := func(d *time.Duration) *timing.Milliseconds { return (*timing.Milliseconds)(d) }
	return dimension{Samples: p.Samples, P50: ms(p.P50), P90: ms(p.P90), P95: ms(p.P95), P99: ms(p.P99)}
}

func TestLR_3_6_ASummaryHasThePercentilesOfEachDimensionOverSuccesses(t *testing.T) {
	seen := 0
	for _, v := range vectors(t) {
		if v.Category != "summary" {
			continue
		}
		seen++
		var sampler timing.Sampler
		for _, s := range v.In.Samples {
			if s.Outcome == "success" {
				sampler.Add(timing.Waits{Queue: time.Duration(s.Queue), Resource: time.Duration(s.Resource), Upstream: time.Duration(s.Upstream)})
			}
		}
		got := sampler.Summary()
		for name, p := range map[string]timing.Percentiles{
			"queue_wait_ms": got.Queue, "resource_wait_ms": got.Resource, "upstream_latency_ms": got.Upstream, "end_to_end_ms": got.EndToEnd,
		} {
			var want dimension
			if err := json.Unmarshal(v.Want[name], &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, of(p)); diff != "" {
				t.Errorf("%s: %s: %s", v.ID, name, diff)
			}
		}
	}
	if seen == 0 {
		t.Error("no summaries among the vectors")
	}
}

func TestLR_3_7_SummariesInBetweenChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var often, once timing.Sampler
		var all []time.Duration
		for range rapid.IntRange(0, 8).Draw(t, "batches") {
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 30).Draw(t, "batch") {
				w := timing.Waits{Queue: time.Duration(n), Resource: time.Duration(n % 7), Upstream: time.Duration(n * n)}
				often.Add(w)
				once.Add(w)
				all = append(all, w.EndToEnd())
			}
			often.Summary()
		}
		if diff := cmp.Diff(once.Summary(), often.Summary()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(timing.PercentilesOf(all), often.Summary().EndToEnd); diff != "" {
			t.Errorf("the sum of the waits: %s", diff)
		}
		if often.Len() != len(all) {
			t.Errorf("%d of %d", often.Len(), len(all))
		}
	})
}

func TestAWholePercentIsThatOfExactArithmetic(t *testing.T) {
	for n := range 1201 {
		sorted := make([]time.Duration, n)
		for i := range sorted {
			sorted[i] = time.Duration(i + 1)
		}
		got := timing.PercentilesOf(sorted)
		for percent, value := range map[int64]*time.Duration{50: got.P50, 90: got.P90, 95: got.P95, 99: got.P99} {
			_, want, ok := timing.NearestRank(sorted, big.NewRat(percent, 1))
			if ok != (value != nil) || ok && *value != want {
				t.Fatalf("p%d of %d is %v, want %v", percent, n, value, want)
			}
		}
	}
}

func TestAPercentThatIsNoneHasNoRank(t *testing.T) {
	for _, p := range []*big.Rat{big.NewRat(-1, 10), big.NewRat(1001, 10)} {
		if rank, _, ok := timing.NearestRank([]int{1, 2}, p); ok {
			t.Errorf("p%s has rank %d", p.RatString(), rank)
		}
	}
	if rank, value, ok := timing.NearestRank([]int{4, 5}, new(big.Rat)); !ok || rank != 1 || value != 4 {
		t.Error("the 0th percentile is not the least")
	}
}

func TestMillisecondsAreDecimalAndRoundedToTheMicrosecond(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 499: "0", 500: "0.001", time.Millisecond: "1", 12_345_678: "12.346", 1_500_000: "1.5", time.Hour: "3600000",
		-12_345_678: "-12.346", -1: "0", 1<<63 - 1: "9223372036854.776", -1 << 63: "-9223372036854.776",
	} {
		got, err := json.Marshal(timing.Milliseconds(d))
		if err != nil || string(got) != want {
			t.Errorf("%d is %s, %v, want %s", d, got, err, want)
		}
	}
	for text, want := range map[string]time.Duration{"12.345": 12_345_000, "0": 0, "-1.5": -1_500_000, "0.0000019": 1} {
		var m timing.Milliseconds
		if err := json.Unmarshal([]byte(text), &m); err != nil || time.Duration(m) != want {
			t.Errorf("%s is %d, %v", text, m, err)
		}
	}
	for _, text := range []string{`"1"`, "1e3", "true", "9999999999999999", "[]"} {
		var m timing.Milliseconds
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("%s is %d", text, m)
		}
	}
}
