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
// with hits and misses with misses. A failure rate has changed when chance does not explain the difference.
func Compare(base, run *Report) *Comparison {
	c := &Comparison{
		V: 1, Base: base.Run, Run: run.Run, Reasons: incomparable(base, run), Notes: notes(base, run),
		Noise:       Noise{Relative: noiseRelative, Absolute: timing.Milliseconds(noiseAbsolute)},
		Differences: []Difference{}, Rates: []RateChange{},
	}
	if len(c.Reasons) > 0 {
		c.Gate = ReleaseGate{Reasons: []string{"the runs cannot be compared"}}
		return c
	}
	c.Comparable = true
	pairs(base.ByBoth, run.ByBoth, func(b, r Group) { c.Differences = append(c.Differences, differences(b, r)...) })
	pairs(base.ByChart, run.ByChart, func(b, r Group) { c.Rates = append(c.Rates, rateChange(b, r)) })
	all := rateChange(base.Overall, run.Overall)
	c.Failures = &all
	c.count()
	c.Gate = c.releaseGate(base, run)
	return c
}

func failureRate(g Group) *timing.Rate { return timing.RateOf(g.Errors+g.Timeouts, g.Completed) }

func rateChange(b, r Group) RateChange {
	c := RateChange{Chart: r.Chart, Name: cmp.Or(r.Name, b.Name), Base: failureRate(b), Run: failureRate(r)}
	c.Change = changeOfRate(c.Base, c.Run)
	return c
}

// changeOfRate judges two shares by the z-test of two proportions with Yates' correction, at 95 %, in exact numbers. Few samples that differ as much as
// all and none are judged too: the test itself knows how few there are.
func changeOfRate(base, run *timing.Rate) Change {
	if base == nil || run == nil {
		return OneSide
	}
	n, m := big.NewRat(1, int64(base.Whole)), big.NewRat(1, int64(run.Whole))
	each := new(big.Rat).Add(n, m)
	delta := new(big.Rat).Sub(run.Rat(), base.Rat())
	pooled := big.NewRat(int64(base.Part+run.Part), int64(base.Whole+run.Whole))
	variance := new(big.Rat).Mul(pooled, new(big.Rat).Sub(big.NewRat(1, 1), pooled))
	variance.Mul(variance, each)
	beyond := new(big.Rat).Sub(new(big.Rat).Abs(delta), new(big.Rat).Mul(each, big.NewRat(1, 2)))
	limit := new(big.Rat).Mul(big.NewRat(196*196, 10_000), variance)
	switch {
	case beyond.Sign() > 0 && new(big.Rat).Mul(beyond, beyond).Cmp(limit) >= 0:
		if delta.Sign() > 0 {
			return Worse
		}
		return Better
	case min(base.Whole, run.Whole) < minimumSamples:
		return TooFew
	}
	return Same
}

// count tells how often each change is there.
func (c *Comparison) count() {
	for _, d := range c.Differences {
		switch d.Change {
		case Slower:
			c.Slower++
		case Faster:
			c.Faster++
		case Same:
		default:
			continue
		}
		c.Judged++
	}
	for _, r := range append([]RateChange{*c.Failures}, c.Rates...) {
		switch r.Change {
		case Worse:
			c.Worse++
		case Better:
			c.Better++
		default: // not judged, or no change
		}
	}
}

// releaseGate fails for what is worse, and for what nothing shows to be as good.
func (c *Comparison) releaseGate(base, run *Report) ReleaseGate {
	g := ReleaseGate{Reasons: []string{}}
	say := func(when bool, format string, args ...any) {
		if when {
			g.Reasons = append(g.Reasons, fmt.Sprintf(format, args...))
		}
	}
	for _, r := range []*Report{base, run} {
		say(r.Ending != Completed, "the run %s did not complete: it %s", r.Run, endingWords(r.Ending))
	}
	say(c.Slower > 0, "%s slower by more than the noise", plural(c.Slower, "percentile is", "percentiles are"))
	if c.Worse > 0 {
		say(c.Failures.Change == Worse, "more failed: %s, and %s in the base", share(c.Failures.Run), share(c.Failures.Base))
		for _, r := range c.Rates {
			say(r.Change == Worse, "more failed of chart %d: %s, and %s in the base", r.Chart, share(r.Run), share(r.Base))
		}
	}
	switch unjudged := c.unjudged(); {
	case c.Judged == 0:
		say(true, "nothing could be judged: no chart has %d successes of the same cache state in both runs; run more variations, or bring the cache to the same state before both", minimumSamples)
	case len(unjudged) > 0:
		say(true, "of charts %v no latency could be judged: they do not have %d successes of the same cache state in both runs", unjudged, minimumSamples)
	}
	g.Passed = len(g.Reasons) == 0
	return g
}

// unjudged are the charts of which no latency was judged, in their order.
func (c *Comparison) unjudged() []int64 {
	judged := make(map[int64]bool)
	for _, d := range c.Differences {
		judged[d.Chart] = judged[d.Chart] || d.Change == Same || d.Change == Slower || d.Change == Faster
	}
	var charts []int64
	for _, r := range c.Rates {
		if !judged[r.Chart] {
			charts = append(charts, r.Chart)
		}
	}
	return charts
}

func endingWords(e Ending) string {
	switch e {
	case Tripped:
		return "tripped its breaker"
	case Stopped:
		return "was stopped"
	case PreflightFailed:
		return "failed its preflight"
	default:
		return "failed"
	}
}

// share is a rate as people read it, with what it is of.
func share(r *timing.Rate) string {
	if r == nil {
		return "none of 0"
	}
	return fmt.Sprintf("%s %% (%d of %d)", new(big.Rat).Mul(r.Rat(), big.NewRat(100, 1)).FloatString(2), r.Part, r.Whole)
}

func incomparable(base, run *Report) []string {
	reasons := []string{}
	say := func(when bool, format string, args ...any) {
		if when {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	if base.Run == run.Run {
		return []string{fmt.Sprintf("%s is the run itself; name another one as the base", base.Run)}
	}
	say(base.State != Ended, "the base %s has not ended", base.Run)
	say(run.State != Ended, "the run %s has not ended", run.Run)
	say(base.Selection != run.Selection, "they went through different selections of variations")
	say(!sameCharts(base, run), "they ran different charts: %v and %v", base.ChartIDs, run.ChartIDs)
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
	// A snapshot is of all that was looked up: where the environment, the choice of charts or the dependents differ, so does it, and says no more.
	say(base.Snapshot != run.Snapshot && base.Fingerprint == run.Fingerprint && base.Environment == run.Environment && sameCharts(base, run),
		"what was looked up of the dashboard is not the same: its charts, their requests or its filters")
	say(base.Ending != run.Ending, "one ended as %s and the other as %s", base.Ending, run.Ending)
	for _, r := range []*Report{base, run} {
		say(r.Ending != Completed && r.Ending != "", "run %s did not complete: it has %d of %d executions", r.Run, r.Overall.Recorded+r.WarmUp, r.Total)
	}
	say(statesDiffer(&base.Overall, &run.Overall), "their cache states differ: %s and %s", mix(base.Overall.States), mix(run.Overall.States))
	return notes
}

// sameCharts tells whether both ran the same charts, in whichever order.
func sameCharts(base, run *Report) bool {
	return slices.Equal(slices.Sorted(slices.Values(base.ChartIDs)), slices.Sorted(slices.Values(run.ChartIDs)))
}

// statesDiffer tells whether the share of some cache state among the successes is another one by more than a twentieth.
func statesDiffer(base, run *Group) bool {
	of := func(g *Group, state CacheState) *big.Rat {
		for _, m := range g.States {
			if m.State == state && g.Success > 0 {
				return big.NewRat(int64(m.Count), int64(g.Success))
			}
		}
		return new(big.Rat)
	}
	if base.Success == 0 || run.Success == 0 {
		return false
	}
	for _, state := range append(cacheStates(), "") {
		delta := new(big.Rat).Sub(of(base, state), of(run, state))
		if delta.Abs(delta).Cmp(big.NewRat(1, 20)) > 0 {
			return true
		}
	}
	return false
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
