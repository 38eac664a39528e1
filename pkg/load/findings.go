package load

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/jcs"
	"github.com/braidhq/braid/pkg/planner/matrix"
)

// findings compares the data of executions that should have the same (LR-5.4).
type findings struct {
	groups  map[findingKey]*dataSeen
	texts   map[string]string // so that equal texts are kept once
	filters map[string]bool   // filter lists that ask for other dates each day, by their hash
	charts  map[int64]bool    // charts whose own request does
}

// findingKey is what executions have in common that should have the same data. The viewport never reaches the server.
type findingKey struct {
	chart                    int64
	filters, role, timeRange string
}

// dataSeen is what was seen of one group, in the order in which it came.
type dataSeen struct {
	digests []digestSeen
	at      map[string]int // of digests, once there are many
	other   string         // row set of the first; empty once a set is not known or not the same
}

type digestSeen struct {
	sha256 string
	count  int
	states [7]int // by stateIndex
}

func newFindings(p *Profile, s *Snapshot) findings {
	f := findings{
		groups: make(map[findingKey]*dataSeen), texts: make(map[string]string), filters: make(map[string]bool), charts: make(map[int64]bool),
	}
	if axes, err := matrix.Parse(p.Axes); err == nil {
		for _, list := range axes.Filters() {
			var clauses []matrix.Clause
			if json.Unmarshal(list, &clauses) == nil && slices.ContainsFunc(clauses, relativeClause) {
				f.filters[jcs.Sum(list)] = true
			}
		}
	}
	if s == nil {
		return f
	}
	for i := range s.Charts {
		if t, err := newTemplate(s.Dashboard, &s.Charts[i], nil); err == nil && t.relative() {
			f.charts[s.Charts[i].ID] = true
		}
	}
	return f
}

func relativeClause(c matrix.Clause) bool {
	if c.Operator != "TEMPORAL_RANGE" {
		return false
	}
	text, ok := jsonText(c.Value)
	return ok && relative(text)
}

// relative tells whether the chart's own request has a time range that means other dates each day.
func (t *template) relative() bool {
	for _, q := range t.queries {
		if text, ok := jsonText(q.own); ok && relative(text) {
			return true
		}
		for _, clause := range q.ranges {
			if text, ok := jsonText(clause["val"]); ok && relative(text) {
				return true
			}
		}
	}
	return false
}

// relative tells whether a time range means other dates at another time: all but no filter and what is between two ISO times.
func relative(timeRange string) bool {
	text := strings.TrimSpace(timeRange)
	if text == "" || strings.EqualFold(text, "No filter") {
		return false
	}
	since, until, ok := strings.Cut(text, " : ")
	return !ok || !absolute(since) || !absolute(until)
}

func absolute(text string) bool {
	text = strings.TrimSpace(text)
	if _, err := time.Parse("2006-01-02", text); err == nil {
		return true
	}
	_, ok := stamp(jcs.AppendString(nil, text))
	return ok
}

func (f *findings) same(text string) string {
	if kept, ok := f.texts[text]; ok {
		return kept
	}
	kept := strings.Clone(text) // not a part of a longer one
	f.texts[kept] = kept
	return kept
}

func (f *findings) add(e *Execution) {
	if e.DataSHA256 == "" {
		return
	}
	key := findingKey{chart: e.Chart, filters: f.same(e.FiltersHash), role: f.same(e.Role), timeRange: f.same(e.TimeRange)}
	seen := f.groups[key]
	if seen == nil {
		seen = &dataSeen{other: e.rowSet()}
		f.groups[key] = seen
	}
	i := seen.index(e.DataSHA256)
	if i < 0 {
		i = seen.begin(f.same(e.DataSHA256))
		if i > 0 && (seen.other == "" || e.rowSet() != seen.other) {
			seen.other = ""
		}
	}
	seen.digests[i].count++
	seen.digests[i].states[stateIndex(e.Cache)]++
}

// fewDigests is up to how many digests of a group looking at each of them is cheap. Data may differ in each execution.
const fewDigests = 16

// index finds a digest; -1: it has not been seen.
func (d *dataSeen) index(sha256 string) int {
	if d.at == nil {
		return slices.IndexFunc(d.digests, func(have digestSeen) bool { return have.sha256 == sha256 })
	}
	if i, ok := d.at[sha256]; ok {
		return i
	}
	return -1
}

// begin adds a digest and gives its index.
func (d *dataSeen) begin(sha256 string) int {
	i := len(d.digests)
	d.digests = append(d.digests, digestSeen{sha256: sha256})
	if i == fewDigests {
		d.at = make(map[string]int, 4*fewDigests)
		for j := range d.digests {
			d.at[d.digests[j].sha256] = j
		}
	}
	if d.at != nil {
		d.at[sha256] = i
	}
	return i
}

func stateIndex(s CacheState) int {
	if i := slices.Index(cacheStates(), s); i >= 0 {
		return i
	}
	return len(cacheStates())
}

// timeDependent tells whether what is sent means other dates at another time. A time range of the variation takes the place of the chart's own.
func (f *findings) timeDependent(chart int64, filters, timeRange string) bool {
	return f.filters[filters] || timeRange == "" && f.charts[chart] || relative(timeRange)
}

// list gives the groups with more than one digest.
func (f *findings) list(order func(a, b int64) int) []Finding {
	all := []Finding{}
	for key, seen := range f.groups {
		if len(seen.digests) < 2 {
			continue
		}
		finding := Finding{
			Chart: key.chart, FiltersHash: key.filters, Role: key.role, TimeRange: key.timeRange, OrderOnly: seen.other != "",
			TimeDependent: f.timeDependent(key.chart, key.filters, key.timeRange),
		}
		for _, d := range seen.digests {
			count := DigestCount{SHA256: d.sha256, Count: d.count, Cache: make(map[CacheState]int)}
			for i, state := range append(cacheStates(), "") {
				if d.states[i] > 0 {
					count.Cache[state] = d.states[i]
				}
			}
			finding.Digests = append(finding.Digests, count)
		}
		slices.SortStableFunc(finding.Digests, func(a, b DigestCount) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.SHA256, b.SHA256))
		})
		all = append(all, finding)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(order(a.Chart, b.Chart), strings.Compare(a.FiltersHash, b.FiltersHash), strings.Compare(a.Role, b.Role), strings.Compare(a.TimeRange, b.TimeRange))
	})
	return all
}
