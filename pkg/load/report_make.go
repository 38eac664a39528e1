package load

import (
	"cmp"
	"slices"
	"strings"
)

// Report gives what came of the run so far; of one that has ended, for good.
func (f *Fold) Report() *Report {
	run, p := &f.run, &f.run.Profile
	r := &Report{
		V: 1, Run: run.ID, Profile: p.ID, ProfileName: p.Name, Revision: p.Revision, Environment: run.Environment, Dashboard: p.Dashboard,
		Title: f.title, Owner: run.Owner, State: run.State, Ending: run.Ending, Reason: run.Reason, StoppedBy: run.StoppedBy,
		Created: run.Created, Started: run.Started, Closed: run.Closed, Ended: run.Ended, Capacity: run.Capacity, Force: p.Force, Seed: p.Seed,
		Theoretical: run.Theoretical, Selected: run.Selected, ChartCount: run.Charts, Selection: run.Selection, Snapshot: run.Snapshot,
		Fingerprint: run.Fingerprint, Total: len(f.recorded), NotDispatched: f.notDispatched(), InFlight: f.inFlight, WarmUp: f.warmUp,
		RequestsSent: f.sent, Attempts: f.attempts, Kinds: f.kindCounts(), Findings: f.findings.list(f.chartOrder),
		Diagnostics: f.diagnostics(), Breaker: f.breakerStatus(), Trip: f.trip, Labels: labels(p.Labels), Thresholds: []Judgement{},
	}
	if run.State == Ended {
		r.InFlight = 0
	}
	f.fillGroups(r)
	r.ChartIDs = f.chartIDs(r)
	for _, t := range p.Thresholds {
		r.Thresholds = append(r.Thresholds, t.judge(f.sum(func(k groupKey) bool {
			return (t.Chart == 0 || k.chart == t.Chart) && (t.Role == "" || k.role == t.Role) && (t.Cache == "" || string(k.cache) == t.Cache)
		})))
	}
	r.Verdict = verdict(run, r.Thresholds)
	return r
}

// chartIDs are those of the snapshot; without it, those with a record.
func (f *Fold) chartIDs(r *Report) []int64 {
	ids := make([]int64, 0, len(f.charts))
	for id := range f.charts {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		for _, g := range r.ByChart {
			ids = append(ids, g.Chart)
		}
	}
	slices.SortFunc(ids, f.chartOrder)
	return ids
}

func verdict(run *Run, judgements []Judgement) Verdict {
	switch {
	case run.State != Ended:
		return NotYetOver
	case run.Ending == Tripped || run.Ending == PreflightFailed || run.Ending == Failed:
		return NotPassed
	case len(judgements) == 0:
		return NoVerdict
	case slices.ContainsFunc(judgements, func(j Judgement) bool { return !j.Passed }):
		return NotPassed
	}
	return Passed
}

// keys are those of the groups in the order of reports.
func (f *Fold) keys() []groupKey {
	keys := make([]groupKey, 0, len(f.groups))
	for key := range f.groups {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, f.compareKeys)
	return keys
}

func (f *Fold) compareKeys(a, b groupKey) int {
	way := func(async bool) int {
		if async {
			return 1
		}
		return 0
	}
	return cmp.Or(f.chartOrder(a.chart, b.chart), strings.Compare(a.role, b.role), cmp.Compare(stateIndex(a.cache), stateIndex(b.cache)),
		strings.Compare(string(a.cache), string(b.cache)), cmp.Compare(way(a.async), way(b.async)))
}

// chartOrder is that of the dashboard; charts that it has not come behind, by id.
func (f *Fold) chartOrder(a, b int64) int {
	at := func(id int64) int {
		if c, ok := f.charts[id]; ok {
			return c.index
		}
		return len(f.charts)
	}
	return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b))
}

// sum adds up the groups that are wanted, in their order, so that equal records give equal bytes.
func (f *Fold) sum(wanted func(k groupKey) bool) *numbers {
	n := &numbers{}
	for _, key := range f.keys() {
		if wanted(key) {
			n.merge(f.groups[key])
		}
	}
	return n
}

// fillGroups adds the least groups up in each way that is told (LR-3.8).
func (f *Fold) fillGroups(r *Report) {
	succeeded := func(k groupKey) bool { return f.groups[k].success > 0 }
	everything := func(groupKey) bool { return true }
	r.Groups = f.rollUp(everything, func(k groupKey) groupKey { return k })
	r.ByChart = f.rollUp(everything, func(k groupKey) groupKey { return groupKey{chart: k.chart} })
	r.ByRole = f.rollUp(everything, func(k groupKey) groupKey { return groupKey{role: k.role} })
	r.ByCache = f.rollUp(succeeded, func(k groupKey) groupKey { return groupKey{cache: k.cache} })
	r.ByBoth = f.rollUp(succeeded, func(k groupKey) groupKey { return groupKey{chart: k.chart, cache: k.cache} })
	r.Overall = Group{}
	f.sum(everything).fill(&r.Overall)
}

// rollUp adds up the groups that are wanted by what onto makes of their keys.
func (f *Fold) rollUp(wanted func(k groupKey) bool, onto func(k groupKey) groupKey) []Group {
	sums := make(map[groupKey]*numbers)
	order := []groupKey{}
	for _, key := range f.keys() {
		if !wanted(key) {
			continue
		}
		to := onto(key)
		if sums[to] == nil {
			sums[to] = &numbers{}
			order = append(order, to)
		}
		sums[to].merge(f.groups[key])
	}
	slices.SortFunc(order, f.compareKeys)
	groups := make([]Group, len(order))
	for i, key := range order {
		groups[i] = Group{Chart: key.chart, Name: f.charts[key.chart].name, Role: key.role, Cache: key.cache, Async: key.async}
		sums[key].fill(&groups[i])
	}
	return groups
}

// kindCounts are what went wrong, the most frequent first.
func (f *Fold) kindCounts() []KindCount {
	all := make([]KindCount, 0, len(f.countedKinds))
	for kind, count := range f.countedKinds {
		kind.Count = count
		all = append(all, kind)
	}
	slices.SortFunc(all, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(string(a.Outcome), string(b.Outcome)), strings.Compare(a.Kind, b.Kind))
	})
	return all
}
