package planner_test

import (
	"fmt"
	"testing"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// lengthy are values of many lengths, so that each byte of room makes a difference.
func lengthy(prefix string, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%s%0*d", prefix, 4+i*7919%17, i)
	}
	return values
}

// The time for ten times as many values is to be about ten times as long.
func BenchmarkDivide(b *testing.B) {
	one := gauges(b, "url_bytes: 8000", "pack: site")
	two := gauges(b, "url_bytes: 8000", "pack: site", "pack: code")
	three := gauges(b, "url_bytes: 8000", "pack: site", "pack: code", "pack: tag")
	for _, bench := range []struct {
		c                  *service.Collection
		sites, codes, tags int
		values             func(string, int) []string
		maxChunks          int
	}{
		{one, 10_000, 0, 0, numbered, 0},
		{one, 100_000, 0, 0, numbered, 0},
		{one, 1_000_000, 0, 0, numbered, 0},
		{one, 100_000, 0, 0, numbered, 100_000},
		{two, 10_000, 10_000, 0, lengthy, 0},
		{two, 100_000, 30_000, 0, lengthy, 0},
		{two, 100_000, 100, 0, numbered, 0},
		{two, 100_000, 100, 0, numbered, 50_000},
		{two, 1_000_000, 100, 0, numbered, 0},
		{three, 1000, 1000, 1000, lengthy, 0},
		{three, 5000, 3000, 2000, lengthy, 0},
		{three, 5000, 3000, 1000, numbered, 0},
		{three, 100_000, 300, 100, lengthy, 0},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d/max=%d", bench.sites, bench.codes, bench.tags, bench.maxChunks), func(b *testing.B) {
			whole := service.Values{"site": bench.values("USGS-", bench.sites)}
			if bench.codes > 0 {
				whole["code"] = bench.values("", bench.codes)
			}
			if bench.tags > 0 {
				whole["tag"] = bench.values("t", bench.tags)
			}
			chunks := 0
			for b.Loop() {
				plan, err := planner.Divide(bench.c, whole, planner.Options{MaxChunks: bench.maxChunks})
				if err != nil {
					b.Fatal(err)
				}
				chunks = plan.Len()
			}
			b.ReportMetric(float64(chunks), "chunks")
		})
	}
}

// Lists in a body, beside lists in the URL, have three limits to keep.
func BenchmarkDividePostedLists(b *testing.B) {
	c := parsed(b, "method: POST_IF_MANY, path: /c",
		"a: {type: text, many: cql2_in}, b: {type: text, many: cql2_in}, d: {type: text, many: comma}, e: {type: text, many: comma}",
		"pack: a", "pack: b", "pack: d", "pack: e")
	c.Limits.URLBytes, c.Limits.BodyBytes, c.Limits.RequestBytes = 8000, 60_000, 64_000
	for _, n := range []int{100, 1000, 3000, 6000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			values := service.Values{"a": lengthy("", 20*n), "b": lengthy("", n), "d": lengthy("", n), "e": lengthy("", n/2)}
			for b.Loop() {
				if _, err := planner.Divide(c, values, planner.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDivisible(b *testing.B) {
	data, _ := service.Builtin("usgs-waterdata")
	d, err := service.Parse("usgs-waterdata.yaml", data)
	if err != nil {
		b.Fatal(err)
	}
	c, err := d.Collection("continuous")
	if err != nil {
		b.Fatal(err)
	}
	chunk := planner.Chunk{Values: service.Values{"monitoring_location_id": numbered("USGS-", 1), "time": {"2020-01-01T00:00:00Z", "2020-12-31T00:00:00Z"}}}
	for b.Loop() {
		planner.Divisible(c, chunk)
	}
}
