package load

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/timing"
)

// The floor of noise, and the samples below which a difference is not judged.
const (
	noiseRelative  = "0.1"
	noiseAbsolute  = 10 * time.Millisecond
	minimumSamples = 20
)

// Compare holds a run against an earlier one. They are comparable when both have ended and went through the same selection of the same charts with the same
// effective capacity, forced or not; else the comparison says why not, and compares nothing. Latencies are compared by chart and cache state: hits
// with hits and misses with misses.
func Compare(base, run *Report) *Comparison {
	c := &Comparison{
		V: 1, Base: base.Run, Run: run.Run, Reasons: incomparable(base, run), Notes: notes(base, run),
		Noise:       Noise{Relative: noiseRelative, Absolute: timing.Milliseconds(noiseAbsolute)},
		Differences: []Difference{}, Rates: []RateChange{},
	}
	if len(c.Reasons) > 0 {
		return c
	}
	c.Comparable = true
	pairs(base.ByBoth, run.ByBoth, func(b, r Group) { c.Differences = append(c.Differences, differences(b, r)...) })
	pairs(base.ByChart, run.ByChart, func(b, r Group) {
		c.Rates = append(c.Rates, RateChange{Chart: r.Chart, Name: r.Name, Base: failureRate(b), Run: failureRate(r)})
	})
	for _, d := range c.Differences {
		if d.Change == Slower {
			c.Slower++
		}
		if d.Change == Faster {
			c.Faster++
		}
	}
	return c
}

func failureRate(g Group) *timing.Rate { return timing.RateOf(g.Errors+g.Timeouts, g.Completed) }

func incomparable(base, run *Report) []string {
	reasons := []string{}
	say := func(when bool, format string, args ...any) {
		if when {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	say(base.State != Ended, "the base %s has not ended", base.Run)
	say(run.State != Ended, "the run %s has not ended", run.Run)
	say(base.Selection != run.Selection, "they went through different selections of variations")
	x, y := slices.Sorted(slices.Values(base.ChartIDs)), slices.Sorted(slices.Values(run.ChartIDs))
	say(!slices.Equal(x, y), "they ran different charts: %v and %v", x, y)
	say(base.Capacity.Effective != run.Capacity.Effective, "their effective capacities are %d and %d", base.Capacity.Effective, run.Capacity.Effective)
	say(base.Force != run.Force, "one of them went past the cache")
	return reasons
}

func notes(base, run *Report) []string {
	notes := []string{}
	say := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	say(base.Environment != run.Environment, "they ran in the environments %s and %s", base.Environment, run.Environment)
	say(base.Fingerprint != run.Fingerprint, "what depends on the data was not the same")
	say(base.Snapshot != run.Snapshot, "the dashboard was changed between them")
	say(base.Ending != run.Ending, "one ended as %s and the other as %s", base.Ending, run.Ending)
	for _, r := range []*Report{base, run} {
		say(r.Ending != Completed && r.Ending != "", "run %s did not complete: it has %d of %d executions", r.Run, r.Overall.Recorded+r.WarmUp, r.Total)
	}
	say(!slices.Equal(base.Overall.States, run.Overall.States), "their cache states differ: %s and %s", mix(base.Overall.States), mix(run.Overall.States))
	return notes
}

func mix(states []CacheMix) string {
	text := ""
	for _, s := range states {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", s.Count, s.State)
	}
	return cmp.Or(text, "none")
}

// pairs goes over the groups of both, those of the base first, and gives a group without numbers where one has none.
func pairs(base, run []Group, on func(b, r Group)) {
	same := func(a Group) func(b Group) bool {
		return func(b Group) bool { return a.Chart == b.Chart && a.Cache == b.Cache }
	}
	for _, b := range base {
		r := Group{Chart: b.Chart, Name: b.Name, Cache: b.Cache}
		if i := slices.IndexFunc(run, same(b)); i >= 0 {
			r = run[i]
		}
		on(b, r)
	}
	for _, r := range run {
		if !slices.ContainsFunc(base, same(r)) {
			on(Group{Chart: r.Chart, Name: r.Name, Cache: r.Cache}, r)
		}
	}
}

// differences are those of each percentile.
func differences(b, r Group) []Difference {
	var all []Difference
	for i, percentile := range percentileNames() {
		x, y := quantile(b.Upstream, i), quantile(r.Upstream, i)
		d := Difference{
			Chart: b.Chart, Name: cmp.Or(r.Name, b.Name), Cache: b.Cache, Percentile: percentile, Base: x, Run: y,
			BaseSamples: b.Upstream.Samples, RunSamples: r.Upstream.Samples, SmallN: isGreatest(i, b.Upstream.Samples) || isGreatest(i, r.Upstream.Samples),
		}
		if x == nil || y == nil {
			d.Change = OneSide
			all = append(all, d)
			continue
		}
		delta := *y - *x
		d.Delta = &delta
		if *x > 0 {
			d.Ratio = big.NewRat(int64(*y), int64(*x)).FloatString(3)
		}
		d.Change = change(time.Duration(*x), time.Duration(delta), min(d.BaseSamples, d.RunSamples))
		all = append(all, d)
	}
	return all
}

// isGreatest tells whether the percentile of so many samples is simply the greatest of them.
func isGreatest(percentile, samples int) bool {
	percent := []int{50, 90, 95, 99}[percentile]
	return samples > 0 && (percent*samples+99)/100 == samples
}

func quantile(q Quantiles, i int) *timing.Milliseconds {
	return []*timing.Milliseconds{q.P50, q.P90, q.P95, q.P99}[i]
}

// change judges a difference: one that is not above both floors is none.
func change(base, delta time.Duration, samples int) Change {
	if samples < minimumSamples {
		return TooFew
	}
	magnitude := max(delta, -delta)
	if magnitude <= noiseAbsolute || magnitude <= base/10 {
		return Same
	}
	if delta > 0 {
		return Slower
	}
	return Faster
}
