package load

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/breaker"
	"github.com/braidhq/braid/pkg/timing"
)

// The metrics of thresholds: a percentile of one of these times, or a rate.
func timeMetrics() []string {
	return []string{"queue_wait_ms", "resource_wait_ms", "upstream_latency_ms", "end_to_end_ms", "from_intended_ms"}
}

func rateMetrics() []string {
	return []string{"error_rate", "timeout_rate", "failure_rate", "hit_rate"}
}

func percentileNames() []string { return []string{"p50", "p90", "p95", "p99"} }

func cacheStates() []CacheState { return []CacheState{Hit, Miss, Bypassed, Disabled, Mixed, Unknown} }

func (c *checker) threshold(t *Threshold, i int) {
	at := func(key string) []any { return []any{"thresholds", i, key} }
	name, percentile, isTime := strings.Cut(t.Metric, ".")
	rate := slices.Contains(rateMetrics(), t.Metric)
	isTime = isTime && slices.Contains(timeMetrics(), name) && slices.Contains(percentileNames(), percentile)
	if !rate && !isTime {
		c.fail(at("metric"), "is %.60q, want %s with .p50, .p90, .p95 or .p99, or %s", t.Metric, strings.Join(timeMetrics(), ", "), strings.Join(rateMetrics(), ", "))
	}
	if t.Chart < 0 {
		c.fail(at("chart"), "is %d, want a chart's id", t.Chart)
	}
	c.text(t.Role, 0, 200, at("role")...)
	switch {
	case t.Cache == "":
	case rate:
		c.fail(at("cache"), "does not go with %s: what failed has no cache state", t.Metric)
	case !slices.Contains(cacheStates(), CacheState(t.Cache)):
		c.fail(at("cache"), "is %.40q, want hit, miss, bypassed, disabled, mixed or unknown", t.Cache)
	}
	if t.Max == "" && t.Min == "" {
		c.fail([]any{"thresholds", i}, "demands nothing; give max or min")
	}
	for _, bound := range []struct{ key, text string }{{"max", t.Max}, {"min", t.Min}} {
		if bound.text == "" {
			continue
		}
		n, err := breaker.ParseDecimal(bound.text)
		switch {
		case err != nil:
			c.fail(at(bound.key), "%.40q is no decimal number such as 800", bound.text)
		case rate && n.Cmp(big.NewRat(1, 1)) > 0:
			c.fail(at(bound.key), "is %s, want a share of 0 to 1", bound.text)
		}
	}
}

// judge holds the numbers of the threshold's executions against it. Without samples it fails: nothing shows that it is kept.
func (t Threshold) judge(n *numbers) Judgement {
	j := Judgement{Threshold: t}
	observed := t.observe(n, &j.Samples)
	if observed == nil {
		j.Reason = "there are no samples"
		return j
	}
	j.Observed = decimal(observed)
	for _, bound := range []struct {
		text, word string
		wrong      int
	}{{t.Max, "above", 1}, {t.Min, "below", -1}} {
		if bound.text == "" {
			continue
		}
		limit, err := breaker.ParseDecimal(bound.text)
		if err != nil {
			j.Reason = err.Error()
			return j
		}
		if observed.Cmp(limit) == bound.wrong {
			j.Reason = fmt.Sprintf("%s is %s %s", j.Observed, bound.word, bound.text)
			return j
		}
	}
	j.Passed = true
	return j
}

// observe is the exact number that the metric speaks of, nil without samples.
func (t Threshold) observe(n *numbers, samples *int) *big.Rat {
	var rate *timing.Rate
	switch t.Metric {
	case "error_rate":
		rate = timing.RateOf(n.errors, n.completed())
	case "timeout_rate":
		rate = timing.RateOf(n.timeouts, n.completed())
	case "failure_rate":
		rate = timing.RateOf(n.errors+n.timeouts, n.completed())
	case "hit_rate":
		rate = timing.RateOf(n.states[Hit], n.success)
	default:
		name, percentile, _ := strings.Cut(t.Metric, ".")
		p := timing.PercentilesOf(n.values(name))
		*samples = p.Samples
		if d := percentileOf(p, percentile); d != nil {
			return big.NewRat(int64(*d), int64(time.Millisecond))
		}
		return nil
	}
	if rate == nil {
		return nil
	}
	*samples = rate.Whole
	return rate.Rat()
}

func percentileOf(p timing.Percentiles, name string) *time.Duration {
	switch name {
	case "p50":
		return p.P50
	case "p90":
		return p.P90
	case "p95":
		return p.P95
	case "p99":
		return p.P99
	}
	return nil
}
