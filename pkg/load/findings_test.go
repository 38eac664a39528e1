package load_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/planner/matrix"
)

// data is a success on chart 8, which has no time range, with this data.
func data(number int, digest string, rows string, edit func(e *load.Execution)) *load.Execution {
	e := success(number, 8, 10, load.Miss)
	e.DataSHA256, e.Sample, e.FiltersHash, e.Queries = digest, json.RawMessage(rows), "f", make([]load.QueryOutcome, 1)
	var all []any
	if json.Unmarshal(e.Sample, &all) == nil {
		e.Rows = int64(len(all))
	}
	if edit != nil {
		edit(e)
	}
	return e
}

func TestLR_5_4_DataThatDiffersIsAFinding(t *testing.T) {
	hit := func(e *load.Execution) { e.Cache = load.Hit }
	for name, c := range map[string]struct {
		executions []*load.Execution
		want       []load.Finding
	}{
		"equal data": {[]*load.Execution{data(0, "x", "[1]", nil), data(1, "x", "[1]", hit)}, nil},
		"other data": {
			[]*load.Execution{data(0, "x", "[1]", nil), data(1, "y", "[2]", nil), data(2, "y", "[2]", hit)},
			[]load.Finding{{Chart: 8, FiltersHash: "f", Digests: []load.DigestCount{
				{SHA256: "y", Count: 2, Cache: map[load.CacheState]int{load.Hit: 1, load.Miss: 1}}, {SHA256: "x", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}},
			}}},
		},
		"another order": {
			[]*load.Execution{data(0, "x", `[{"a":1},{"a":2}]`, nil), data(1, "y", `[{"a":2},{"a":1}]`, nil)},
			[]load.Finding{{Chart: 8, FiltersHash: "f", OrderOnly: true, Digests: []load.DigestCount{
				{SHA256: "x", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}}, {SHA256: "y", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}},
			}}},
		},
		"another order, and a third with other rows": {
			[]*load.Execution{data(0, "x", `[1,2]`, nil), data(1, "y", `[2,1]`, nil), data(2, "z", `[2,3]`, nil), data(3, "y", `[2,1]`, nil)},
			[]load.Finding{{Chart: 8, FiltersHash: "f", Digests: []load.DigestCount{
				{SHA256: "y", Count: 2, Cache: map[load.CacheState]int{load.Miss: 2}},
				{SHA256: "x", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}},
				{SHA256: "z", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}},
			}}},
		},
		"another group each": {
			[]*load.Execution{
				data(0, "x", "[1]", nil), data(1, "y", "[1]", func(e *load.Execution) { e.Role = "A" }), data(2, "y", "[1]", func(e *load.Execution) { e.FiltersHash = "g" }),
				data(3, "y", "[1]", func(e *load.Execution) { e.TimeRange = "Last week" }), data(4, "y", "[1]", func(e *load.Execution) { e.Chart = 9 }),
				data(5, "y", "[1]", func(e *load.Execution) { e.Outcome = load.Error }), data(6, "", "[1]", nil),
			}, nil,
		},
		"a relative time range": {
			[]*load.Execution{data(0, "x", "[1]", func(e *load.Execution) { e.TimeRange = "Last week" }), data(1, "y", "[2]", func(e *load.Execution) { e.TimeRange = "Last week" })},
			[]load.Finding{{Chart: 8, FiltersHash: "f", TimeRange: "Last week", TimeDependent: true, Digests: []load.DigestCount{
				{SHA256: "x", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}}, {SHA256: "y", Count: 1, Cache: map[load.CacheState]int{load.Miss: 1}},
			}}},
		},
	} {
		got := folded(t, running(t, 30, nil), c.executions...).Report().Findings
		if c.want == nil {
			c.want = []load.Finding{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDataThatDiffersEachTimeIsOneFindingOfAllDigests(t *testing.T) {
	const distinct = 40
	f := folded(t, running(t, 4*distinct, nil))
	for n := range 4 * distinct {
		digest := n % distinct
		if n >= 3*distinct { // the first ones once more than the others
			digest = n % 3
		}
		f.Execution(data(n, fmt.Sprintf("%064x", digest), "[1]", nil))
	}
	findings := f.Report().Findings
	if len(findings) != 1 || len(findings[0].Digests) != distinct {
		t.Fatalf("%d findings: %+v", len(findings), findings)
	}
	count := 0
	for i, d := range findings[0].Digests {
		count += d.Count
		if i > 2 && (d.Count != 3 || d.SHA256 != fmt.Sprintf("%064x", i)) || i <= 2 && d.Count < 16 {
			t.Errorf("digest %d: %+v", i, d)
		}
	}
	if count != 4*distinct {
		t.Errorf("%d executions are counted", count)
	}
}

func TestLR_5_4_WhatDependsOnTheTimeIsMarked(t *testing.T) {
	filters, err := matrix.Normalise(json.RawMessage(`{"filters":[{"col":"d","op":"temporal_range","val":"Last week"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		edit func(e *load.Execution)
		want bool
	}{
		"no range at all":                {func(*load.Execution) {}, false},
		"the chart's own":                {func(e *load.Execution) { e.Chart = 9 }, true},
		"the chart's own, replaced":      {func(e *load.Execution) { e.Chart, e.TimeRange = 9, "2026-01-01 : 2026-02-01T10:00:00" }, false},
		"a filter's":                     {func(e *load.Execution) { e.FiltersHash = filters.FiltersHash }, true},
		"no filter":                      {func(e *load.Execution) { e.TimeRange = "No filter" }, false},
		"an open end":                    {func(e *load.Execution) { e.TimeRange = "2026-01-01 : " }, true},
		"an expression":                  {func(e *load.Execution) { e.TimeRange = "2026-01-01 : now" }, true},
		"one day, as Superset reads it ": {func(e *load.Execution) { e.TimeRange = "2026-01-01" }, true},
	} {
		r := running(t, 3, func(r *load.Run) {
			r.Profile.Axes = json.RawMessage(`{"filters":[[{"col":"d","op":"TEMPORAL_RANGE","val":"Last week"}],[]]}`)
		})
		report := folded(t, r, data(0, "x", "[1]", c.edit), data(1, "y", "[1]", c.edit)).Report()
		if got := report.Findings; len(got) != 1 || got[0].TimeDependent != c.want || hasDiagnostic(report.Diagnostics, "time_dependent", 1) != c.want {
			t.Errorf("%s: %+v, %+v", name, got, report.Diagnostics)
		}
	}
}

func TestLR_5_4_TheOrderIsOnlyToBlameWhereAllRowsAreKnown(t *testing.T) {
	set := load.RowSetOf(json.RawMessage(`[2, 1]`), false, 2, 1)
	if set == "" || set != load.RowSetOf(json.RawMessage(`[1,2]`), false, 2, 1) || set == load.RowSetOf(json.RawMessage(`[1,2,2]`), false, 3, 1) {
		t.Error("a set is not that of its rows")
	}
	for name, got := range map[string]string{
		"cut": load.RowSetOf(json.RawMessage(`[1]`), true, 1, 1), "fewer": load.RowSetOf(json.RawMessage(`[1]`), false, 2, 1),
		"two queries": load.RowSetOf(json.RawMessage(`[1]`), false, 1, 2), "nothing": load.RowSetOf(nil, false, 0, 1), "no list": load.RowSetOf(json.RawMessage(`{}`), false, 0, 1),
	} {
		if got != "" {
			t.Errorf("%s has %s", name, got)
		}
	}
}

func TestLR_4_7_AKeyThatMissesAgainWithinItsTimeoutIsSuspect(t *testing.T) {
	query := func(state load.CacheState, key, timeout string) []load.QueryOutcome {
		return []load.QueryOutcome{{State: state, CacheKey: json.RawMessage(key), CacheTimeout: json.RawMessage(timeout)}}
	}
	at := func(number int, admitted, finished float64, q []load.QueryOutcome) *load.Execution {
		e := success(number, 9, 10, q[0].State)
		e.Admitted, e.Finished, e.Queries = moment(admitted), moment(finished), q
		return e
	}
	for name, c := range map[string]struct {
		executions []*load.Execution
		want       int
	}{
		"again at once":              {[]*load.Execution{at(0, 0, 1, query(load.Miss, `"k"`, "60")), at(1, 2, 3, query(load.Miss, `"k"`, "60")), at(2, 4, 5, query(load.Miss, `"k"`, "60"))}, 2},
		"for ever":                   {[]*load.Execution{at(0, 0, 1, query(load.Miss, `"k"`, "0")), at(1, 9999, 10000, query(load.Miss, `"k"`, "0"))}, 1},
		"together":                   {[]*load.Execution{at(0, 0, 3, query(load.Miss, `"k"`, "60")), at(1, 1, 2, query(load.Miss, `"k"`, "60"))}, 0},
		"after it ran out":           {[]*load.Execution{at(0, 0, 1, query(load.Miss, `"k"`, "60")), at(1, 62, 63, query(load.Miss, `"k"`, "60"))}, 0},
		"another key":                {[]*load.Execution{at(0, 0, 1, query(load.Miss, `"k"`, "60")), at(1, 2, 3, query(load.Miss, `"l"`, "60"))}, 0},
		"no key":                     {[]*load.Execution{at(0, 0, 1, query(load.Miss, `null`, "60")), at(1, 2, 3, query(load.Miss, `null`, "60"))}, 0},
		"a key that hit in between":  {[]*load.Execution{at(0, 0, 1, query(load.Miss, `"k"`, "60")), at(1, 2, 3, query(load.Hit, `"k"`, "60")), at(2, 4, 5, query(load.Miss, `"k"`, "60"))}, 0},
		"stored later in the stream": {[]*load.Execution{at(0, 8, 9, query(load.Miss, `"k"`, "60")), at(1, 0, 1, query(load.Miss, `"k"`, "60")), at(2, 3, 4, query(load.Miss, `"k"`, "60"))}, 1},
	} {
		got := folded(t, running(t, 30, nil), c.executions...).Report().Diagnostics
		found := 0
		for _, d := range got {
			if d.Code == "cache_backend_noop" {
				found = d.Count
			}
		}
		if found != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	forced := at(1, 2, 3, query(load.Miss, `"k"`, "60"))
	forced.Force = true
	if got := folded(t, running(t, 30, nil), at(0, 0, 1, query(load.Miss, `"k"`, "60")), forced).Report().Diagnostics; hasDiagnostic(got, "cache_backend_noop", 1) {
		t.Error("a forced one counts")
	}
}

func TestTheRunsOwnTroubleIsTold(t *testing.T) {
	for code, c := range map[string]struct {
		edit  func(e *load.Execution)
		count int
	}{
		"resource_timeout": {func(e *load.Execution) { e.Outcome, e.Kind = load.Cancelled, load.ResourceTimeout }, 2}, // LR-2.10
		"queue_saturated":  {func(e *load.Execution) { e.Outcome = load.NotStarted }, 2},                              // LR-7.10
		"rate_limited":     {func(e *load.Execution) { e.Outcome, e.Kind = load.Error, load.RateLimited }, 2},
		"filter_rejected":  {func(e *load.Execution) { e.Rejected = []string{"region"} }, 2}, // LR-5.8
		"forced":           {func(e *load.Execution) { e.Force = true }, 2},                  // LR-10.7
		"repeats":          {func(e *load.Execution) { e.RepeatOf = new(int) }, 2},           // LR-8.9
		"reader_lag":       {func(e *load.Execution) { e.ReaderLag = 2 * time.Millisecond }, 1},
		"small_sample_p99": {func(*load.Execution) {}, 1},
		"time_dependent":   {func(*load.Execution) {}, 1},
	} {
		a, b := success(0, 9, 10, load.Miss), success(1, 9, 10, load.Miss)
		c.edit(a)
		c.edit(b)
		f := folded(t, running(t, 6, nil), a, b)
		if got := f.Progress(moment(0)).Diagnostics; !hasDiagnostic(got, code, c.count) {
			t.Errorf("%s: %+v", code, got)
		}
	}
	if got := folded(t, running(t, 6, nil), failure(0, load.Cancelled, load.ResourceTimeout)).Report(); got.Overall.ErrorRate != nil || got.Overall.Cancelled != 1 {
		t.Error("our own limit is in a rate")
	}
}

func TestLR_5_7_AReaderThatTakesATenthOfTheTimeIsTold(t *testing.T) {
	for lag, want := range map[time.Duration]bool{time.Millisecond: false, time.Millisecond + 1: true} {
		e := success(0, 9, 10, load.Miss)
		e.ReaderLag = lag
		if got := folded(t, running(t, 3, nil), e).Report().Diagnostics; hasDiagnostic(got, "reader_lag", 1) != want {
			t.Errorf("%s: %+v", lag, got)
		}
	}
}
