package load_test

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/load"
)

func TestRunsAreComparedWhereTheyAreComparable(t *testing.T) {
	base := func() *load.Report { return ended(t, nil, success(0, 9, 10, load.Hit)) }
	for reason, edit := range map[string]func(r *load.Report){
		"not ended":            func(r *load.Report) { r.State = load.Draining },
		"different selections": func(r *load.Report) { r.Selection = "other" },
		"different charts":     func(r *load.Report) { r.ChartIDs = []int64{9, 7} },
		"effective capacities": func(r *load.Report) { r.Capacity.Effective = 6 },
		"went past the cache":  func(r *load.Report) { r.Force = true },
	} {
		other := base()
		other.Run = "another"
		edit(other)
		for _, c := range []*load.Comparison{load.Compare(base(), other), load.Compare(other, base())} {
			if c.Comparable || len(c.Reasons) != 1 || !strings.Contains(c.Reasons[0], reason) || len(c.Differences) != 0 {
				t.Errorf("%s: %+v", reason, c)
			}
		}
	}
	if c := load.Compare(base(), base()); c.Comparable || len(c.Reasons) != 1 || !strings.Contains(c.Reasons[0], "the run itself") {
		t.Errorf("with itself: %+v", c)
	}
	other := base()
	other.Run, other.ChartIDs = "another", []int64{8, 9, 7}
	if c := load.Compare(base(), other); !c.Comparable || len(c.Reasons) != 0 || len(c.Notes) != 0 {
		t.Errorf("%+v", c)
	}
	other.Environment, other.Fingerprint, other.Snapshot, other.Ending = "e2", "x", "y", load.Stopped
	other.Overall.States = []load.CacheMix{{State: load.Miss, Count: 1}}
	if c := load.Compare(base(), other); !c.Comparable || len(c.Notes) != 5 {
		t.Errorf("%+v", c)
	}
}

func TestADifferenceCountsAboveBothFloorsOfNoise(t *testing.T) {
	constant := func(n, ms int, cache load.CacheState) *load.Report {
		var all []*load.Execution
		for i := range n {
			all = append(all, success(i, 9, ms, cache))
		}
		return ended(t, nil, all...)
	}
	for _, c := range []struct {
		n, base, run int
		want         load.Change
		ratio        string
	}{
		{150, 100, 110, load.Same, "1.100"},   // at the floors
		{150, 100, 111, load.Slower, "1.110"}, // above both
		{150, 111, 100, load.Same, "0.901"},   // 11 ms, and less than a tenth
		{150, 112, 100, load.Faster, "0.893"},
		{150, 1000, 1100, load.Same, "1.100"},
		{150, 1000, 1101, load.Slower, "1.101"},
		{150, 50, 60, load.Same, "1.200"},
		{150, 5, 14, load.Same, "2.800"}, // below the absolute floor
		{19, 5, 500, load.TooFew, "100.000"},
		{20, 5, 500, load.Slower, "100.000"},
	} {
		got := load.Compare(constant(c.n, c.base, load.Miss), named("another", constant(c.n, c.run, load.Miss)))
		if len(got.Differences) != 4 {
			t.Fatalf("%+v", got)
		}
		for _, d := range got.Differences {
			small := c.n < 100 && d.Percentile == "p99"
			if d.Change != c.want || d.Ratio != c.ratio || d.SmallN != (small || c.n < 20 && d.Percentile == "p95") || d.BaseSamples != c.n {
				t.Errorf("%+v: %+v", c, d)
			}
		}
	}
	got := load.Compare(constant(150, 100, load.Hit), named("another", constant(150, 100, load.Miss)))
	for i, d := range got.Differences {
		hits := i < 4
		if d.Change != load.OneSide || (d.Cache == load.Hit) != hits || (d.BaseSamples == 150) != hits || (d.RunSamples == 150) == hits || d.Delta != nil {
			t.Errorf("%+v", d)
		}
	}
	if len(got.Differences) != 8 {
		t.Errorf("%d differences", len(got.Differences))
	}
}

func named(id string, r *load.Report) *load.Report {
	r.Run = id
	return r
}

func TestNotesSayOnlyWhatDiffers(t *testing.T) {
	report := func(n int) *load.Report {
		var all []*load.Execution
		for i := range n {
			all = append(all, success(i, 9, 10, load.Bypassed))
		}
		return named(strings.Repeat("r", n), ended(t, func(r *load.Run) { r.Ending = load.Completed }, all...))
	}
	a, b := report(100), report(80)
	b.Snapshot = "another"
	if c := load.Compare(a, b); len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "looked up") {
		t.Errorf("a fifth has failed, and the requests changed: %q", c.Notes)
	}
	b.ChartIDs = []int64{9}
	if c := load.Compare(a, b); c.Comparable || len(c.Notes) != 0 {
		t.Errorf("the profiles name other charts: %q", c.Notes)
	}
}

func TestARunPassesTheGateWhenItIsShownToBeNoWorse(t *testing.T) {
	// Executions of chart 9: those that succeed in so many milliseconds, and those that fail.
	report := func(id string, n, ms, failures int, cache load.CacheState) *load.Report {
		var all []*load.Execution
		for i := range n {
			all = append(all, success(i, 9, ms, cache))
		}
		for i := range failures {
			all = append(all, failure(n+i, load.Error, load.Gateway))
		}
		return named(id, ended(t, nil, all...))
	}
	for _, c := range []struct {
		name       string
		base, run  *load.Report
		passed     bool
		why        string
		worse      int
		failures   load.Change
		completion load.Ending
	}{
		{"the same", report("a", 100, 10, 0, load.Miss), report("b", 100, 10, 0, load.Miss), true, "", 0, load.Same, ""},
		{"slower", report("a", 100, 10, 0, load.Miss), report("b", 100, 90, 0, load.Miss), false, "4 percentiles are slower", 0, load.Same, ""},
		{"errors from none to an eighth", report("a", 280, 10, 0, load.Miss), report("b", 245, 10, 35, load.Miss), false, "12.50 % (35 of 280), and 0.00 % (0 of 280)", 2, load.Worse, ""},
		{"a few more errors, as chance has them", report("a", 97, 10, 3, load.Miss), report("b", 95, 10, 5, load.Miss), true, "", 0, load.Same, ""},
		{"fewer errors", report("a", 80, 10, 20, load.Miss), report("b", 100, 10, 0, load.Miss), true, "", 0, load.Better, ""},
		{"all of few fail", report("a", 8, 10, 0, load.Miss), report("b", 0, 10, 8, load.Miss), false, "nothing could be judged", 2, load.Worse, ""},
		{"too few", report("a", 19, 10, 0, load.Miss), report("b", 19, 10, 0, load.Miss), false, "nothing could be judged", 0, load.TooFew, ""},
		{"other cache states", report("a", 99, 10, 0, load.Miss), report("b", 99, 10, 0, load.Hit), false, "nothing could be judged", 0, load.Same, ""},
		{"tripped", report("a", 99, 10, 0, load.Miss), report("b", 99, 10, 0, load.Miss), false, "the run b did not complete: it tripped", 0, load.Same, load.Tripped},
	} {
		if c.run.Ending = load.Completed; c.completion != "" {
			c.run.Ending = c.completion
		}
		c.base.Ending = load.Completed
		got := load.Compare(c.base, c.run)
		if got.Gate.Passed != c.passed || got.Gate.Passed != (len(got.Gate.Reasons) == 0) || !strings.Contains(strings.Join(got.Gate.Reasons, "\n"), c.why) {
			t.Errorf("%s: %+v", c.name, got.Gate)
		}
		if got.Worse != c.worse || got.Failures.Change != c.failures {
			t.Errorf("%s: %d worse, %+v", c.name, got.Worse, got.Failures)
		}
	}
	// A chart of which nothing can be judged is not shown to be as good.
	all := func(id string, few int) *load.Report {
		var list []*load.Execution
		for i := range 60 {
			list = append(list, success(i, 9, 10, load.Miss))
		}
		for i := range few {
			list = append(list, success(60+i, 7, 10, load.Miss))
		}
		return named(id, ended(t, nil, list...))
	}
	if got := load.Compare(all("a", 30), all("b", 5)); got.Gate.Passed || !strings.Contains(strings.Join(got.Gate.Reasons, "\n"), "of charts [7] no latency") {
		t.Errorf("%+v", got.Gate)
	}
}
