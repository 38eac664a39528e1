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
