package load_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/breaker"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

func moment(seconds float64) time.Time {
	return time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// running is a run of so many executions of the three charts of dashboard.
func running(t testing.TB, total int, edit func(r *load.Run)) *load.Run {
	t.Helper()
	r := &load.Run{
		V: 1, ID: "run-1", Profile: *profile(t, "{}"), Environment: "env", Selection: "sel", Snapshot: "snap", Fingerprint: "sha256:9c41", Theoretical: "4", Selected: total / 3,
		Charts: 3, Total: total, Capacity: load.Terms{Effective: 5}, State: load.Running, Created: moment(0), Started: moment(1),
	}
	if edit != nil {
		edit(r)
	}
	return r
}

func folded(t testing.TB, r *load.Run, executions ...*load.Execution) *load.Fold {
	t.Helper()
	f, err := load.NewFold(r, dashboard())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range executions {
		f.Admission(&load.Admission{Run: r.ID, Number: e.Number, Attempt: e.Attempt})
		f.Execution(e)
	}
	return f
}

// success is one that took so many milliseconds upstream.
func success(number int, chart int64, upstream int, cache load.CacheState) *load.Execution {
	return &load.Execution{
		V: 1, Number: number, Attempt: 1, Chart: chart, Outcome: load.Success, Cache: cache,
		Waits: timing.Waits{Queue: time.Millisecond, Upstream: time.Duration(upstream) * time.Millisecond}, Finished: moment(float64(number)),
	}
}

func failure(number int, outcome load.Outcome, kind string) *load.Execution {
	return &load.Execution{V: 1, Number: number, Attempt: 1, Chart: 9, Outcome: outcome, Kind: kind, Finished: moment(float64(number))}
}

func TestLR_3_5_OnlySuccessesHaveLatenciesAndOnlyCompletedOnesRates(t *testing.T) {
	type dimension struct {
		Samples int                  `json:"sample_count"`
		P50     *timing.Milliseconds `json:"p50"`
		P90     *timing.Milliseconds `json:"p90"`
		P95     *timing.Milliseconds `json:"p95"`
		P99     *timing.Milliseconds `json:"p99"`
	}
	type vector struct {
		ID       string `json:"id"`
		Category string `json:"category"`
		In       struct {
			Samples []struct {
				Outcome  load.Outcome        `json:"outcome"`
				Queue    timing.Milliseconds `json:"queue_wait_ms"`
				Resource timing.Milliseconds `json:"resource_wait_ms"`
				Upstream timing.Milliseconds `json:"upstream_latency_ms"`
			} `json:"samples"`
		} `json:"in"`
		Want json.RawMessage `json:"want"`
	}
	for _, v := range readVectors[vector](t, "percentiles.json") {
		if v.Category != "summary" {
			continue
		}
		f := folded(t, running(t, len(v.In.Samples), nil))
		for i, s := range v.In.Samples {
			f.Execution(&load.Execution{
				Number: i, Attempt: 1, Chart: 9, Outcome: s.Outcome,
				Waits: timing.Waits{Queue: time.Duration(s.Queue), Resource: time.Duration(s.Resource), Upstream: time.Duration(s.Upstream)},
			})
		}
		var want struct {
			Completed    int          `json:"completed"`
			Success      int          `json:"success"`
			Errors       int          `json:"errors"`
			Timeouts     int          `json:"timeouts"`
			NotCompleted int          `json:"not_completed"`
			ErrorRate    *timing.Rate `json:"error_rate"`
			TimeoutRate  *timing.Rate `json:"timeout_rate"`
			Queue        dimension    `json:"queue_wait_ms"`
			Resource     dimension    `json:"resource_wait_ms"`
			Upstream     dimension    `json:"upstream_latency_ms"`
			EndToEnd     dimension    `json:"end_to_end_ms"`
		}
		if err := json.Unmarshal(v.Want, &want); err != nil {
			t.Fatal(err)
		}
		got := want
		o := f.Report().Overall
		got.Completed, got.Success, got.Errors, got.Timeouts, got.NotCompleted = o.Completed, o.Success, o.Errors, o.Timeouts, o.Recorded-o.Completed
		got.ErrorRate, got.TimeoutRate = o.ErrorRate, o.TimeoutRate
		got.Queue, got.Resource, got.Upstream, got.EndToEnd = dimension(o.Queue), dimension(o.Resource), dimension(o.Upstream), dimension(o.EndToEnd)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", v.ID, diff)
		}
		if p := f.Progress(moment(0)); p.Waits.Upstream.Samples != want.Success || p.Success != want.Success || p.Recorded != len(v.In.Samples) {
			t.Errorf("%s: %+v", v.ID, p)
		}
	}
}

func TestLR_7_1_ARunsBreakerIsThatOfTheVectors(t *testing.T) {
	type vector struct {
		ID string `json:"id"`
		In struct {
			Config struct {
				Enabled    bool         `json:"enabled"`
				Window     int          `json:"window"`
				Minimum    int          `json:"min_samples"`
				ErrorRate  string       `json:"error_rate_threshold"`
				Multiplier string       `json:"latency_multiplier"`
				Reference  *json.Number `json:"reference_p99_ms"`
				Absolute   *json.Number `json:"absolute_p99_ms"`
			} `json:"config"`
			Events [][]any `json:"events"`
		} `json:"in"`
		Want struct {
			State string `json:"state"`
			Trip  *struct {
				At int `json:"at_completed"`
			} `json:"trip"`
		} `json:"want"`
	}
	outcomes := map[any]load.Outcome{"s": load.Success, "e": load.Error, "t": load.Timeout, "c": load.Cancelled}
	for _, v := range readVectors[vector](t, "breaker.json") {
		rules := load.BreakerRules{
			Disabled: !v.In.Config.Enabled, Window: v.In.Config.Window, Minimum: v.In.Config.Minimum, ErrorRate: v.In.Config.ErrorRate, Multiplier: v.In.Config.Multiplier,
		}
		if v.In.Config.Reference != nil && !strings.HasPrefix(v.In.Config.Reference.String(), "-") {
			rules.ReferenceP99 = v.In.Config.Reference.String()
		}
		if v.In.Config.Absolute != nil {
			rules.AbsoluteP99 = v.In.Config.Absolute.String()
		}
		total := 0
		for _, e := range v.In.Events {
			total += int(e[0].(float64))
		}
		f := folded(t, running(t, total, func(r *load.Run) { r.Profile.Breaker = rules }))
		number, completed, tripped := 0, 0, 0
		for _, e := range v.In.Events {
			for range int(e[0].(float64)) {
				x := &load.Execution{Number: number, Attempt: 1, Chart: 9, Outcome: outcomes[e[1]]}
				if len(e) > 2 {
					x.Waits.Upstream = time.Duration(e[2].(float64) * float64(time.Millisecond))
				}
				number++
				if x.Outcome.Completed() {
					completed++
				}
				if f.Execution(x) {
					tripped = completed
				}
			}
		}
		at := 0
		if v.Want.Trip != nil {
			at = v.Want.Trip.At
		}
		if status := f.Progress(moment(0)).Breaker; tripped != at || status.State != v.Want.State || (f.Trip() != nil) != (at > 0) {
			t.Errorf("%s trips at %d, %+v, want %d, %s", v.ID, tripped, status, at, v.Want.State)
		}
	}
}

func TestLR_7_4_TheReferenceRunComesBeforeTheProfilesOwnNumber(t *testing.T) {
	reference := 100 * time.Millisecond
	r := running(t, 30, func(r *load.Run) { r.Profile.Breaker.ReferenceP99, r.ReferenceP99 = "1", &reference })
	if got := folded(t, r).Progress(moment(0)).Breaker.Latency; got.Threshold != "300" || got.State != "armed" {
		t.Errorf("%+v", got)
	}
	r.ReferenceP99 = nil
	if got := folded(t, r).Progress(moment(0)).Breaker.Latency; got.Threshold != "3" {
		t.Errorf("%+v", got)
	}
	r.Profile.Breaker.ReferenceP99 = ""
	if got := folded(t, r).Progress(moment(0)).Breaker.Latency; got.State != "inactive" || got.Reason != breaker.ReasonNoReference {
		t.Errorf("%+v", got)
	}
}

func TestLR_7_6_ATripSaysWhatWasSeen(t *testing.T) {
	f := folded(t, running(t, 60, nil))
	for i := range 19 {
		if f.Execution(success(i, 9, 50, load.Miss)) {
			t.Fatal("it trips below the minimum")
		}
	}
	for i := 19; i < 26; i++ {
		if tripped := f.Execution(failure(i, load.Error, load.ServerError)); tripped != (i == 25) {
			t.Fatalf("failure %d: %t", i, tripped)
		}
	}
	want := &load.Trip{
		AtCompleted: 26, Completed: 26, Failures: 7, Successes: 19, At: moment(25), Triggers: []load.Trigger{{Metric: "error_rate", Observed: "0.269231", Threshold: "0.25"}},
	}
	if diff := cmp.Diff(want, f.Trip()); diff != "" {
		t.Error(diff)
	}
	if f.Execution(failure(26, load.Error, load.ServerError)) {
		t.Error("it trips twice")
	}
	status := f.Progress(moment(0)).Breaker
	if status.State != "tripped" || status.Error.State != "tripped" || status.Error.Observed != "0.269231" || status.Latency.State != "inactive" {
		t.Errorf("%+v", status)
	}
}

func TestLR_7_7_AnArmedBreakerShowsWhatItSees(t *testing.T) {
	f := folded(t, running(t, 60, func(r *load.Run) {
		r.Profile.Breaker.AbsoluteP99, r.Profile.Breaker.Excluded = "900", []string{"forbidden"}
	}))
	for i := range 8 {
		f.Execution(success(i, 9, 50+i, load.Miss))
	}
	f.Execution(failure(8, load.Timeout, load.Deadline))
	f.Execution(failure(9, load.Error, load.Forbidden))
	want := load.BreakerStatus{
		State: "armed", Error: load.TriggerStatus{State: "armed", Warming: true, Observed: "0.1", Threshold: "0.25"},
		Latency: load.TriggerStatus{State: "armed", Warming: true, Observed: "57", Threshold: "900"},
	}
	p := f.Progress(moment(0))
	if diff := cmp.Diff(want, p.Breaker); diff != "" {
		t.Error(diff)
	}
	if p.Recent.Upstream.Samples != 8 || !hasDiagnostic(p.Diagnostics, "excluded_failures", 1) {
		t.Errorf("%+v", p)
	}
}

func TestTheRecentTimesAreThoseOfTheBreakersWindow(t *testing.T) {
	f := folded(t, running(t, 60, func(r *load.Run) { r.Profile.Breaker.Window, r.Profile.Breaker.Minimum = 3, 3 }))
	for i := range 8 {
		f.Execution(success(i, 9, 80-10*i, load.Miss))
	}
	if p := f.Progress(moment(0)); p.Recent.Upstream.Samples != 3 || *p.Recent.Upstream.P99 != 30*time.Millisecond || *p.Recent.Upstream.P50 != 20*time.Millisecond {
		t.Errorf("%+v", p.Recent.Upstream)
	}
}

func hasDiagnostic(all []load.Diagnostic, code string, count int) bool {
	return slices.ContainsFunc(all, func(d load.Diagnostic) bool { return d.Code == code && d.Count == count && d.Text != "" })
}

func TestLR_6_7_ASecondAttemptIsCountedOnceAndItsRequestsAllTheSame(t *testing.T) {
	f := folded(t, running(t, 3, nil))
	f.Admission(&load.Admission{Number: 1, Attempt: 1})
	f.Admission(&load.Admission{Number: 1, Attempt: 2})
	if f.InFlight() != 1 || f.Recorded(1) || !f.Admitted(1) || f.Admitted(0) {
		t.Errorf("%d in flight", f.InFlight())
	}
	second := success(1, 9, 10, load.Miss)
	second.Attempt = 2
	f.Execution(second)
	if f.InFlight() != 0 || !f.Recorded(1) {
		t.Error("an attempt that was lost is in flight for ever")
	}
	f.Execution(failure(1, load.Error, load.Transport))
	f.Admission(&load.Admission{Number: 1, Attempt: 2, Repeat: true})
	p := f.Progress(moment(9))
	if p.Recorded != 1 || p.Success != 1 || p.Errors != 0 || p.RequestsSent != 3 || p.Attempts != 2 || !hasDiagnostic(p.Diagnostics, "repeated_attempts", 1) {
		t.Errorf("%+v", p)
	}
	f.Execution(success(0, 9, 10, load.Miss))
	f.Admission(&load.Admission{Number: 0, Attempt: 2})
	if f.InFlight() != 1 {
		t.Error("a second attempt that is under way is not in flight")
	}
	f.Execution(&load.Execution{Number: 3})
	f.Execution(&load.Execution{Number: -1})
	f.Admission(&load.Admission{Number: 1 << 40})
	f.Bad()
	if p := f.Progress(moment(9)); p.Recorded != 2 || !hasDiagnostic(p.Diagnostics, "bad_record", 4) {
		t.Errorf("%+v", p)
	}
}

func TestLR_11_1_TheCountsOfARunThatHasEndedComeToItsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 40).Draw(t, "total")
		r := &load.Run{ID: "r", Total: total, State: load.Running}
		r.Profile.ID, r.Profile.Environment, r.Profile.Dashboard, r.Profile.Concurrency = "p", "e", "d", 1
		if err := r.Profile.Validate(); err != nil {
			t.Fatal(err)
		}
		f, err := load.NewFold(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 80).Draw(t, "records") {
			number := rapid.IntRange(0, max(total-1, 0)).Draw(t, "number")
			if rapid.Bool().Draw(t, "admission") {
				f.Admission(&load.Admission{Number: number, Attempt: 1})
				continue
			}
			f.Execution(&load.Execution{
				Number: number, Attempt: rapid.IntRange(1, 3).Draw(t, "attempt"), WarmUp: number < 3, Chart: int64(number % 3),
				Outcome: rapid.SampledFrom([]load.Outcome{load.Success, load.Error, load.Timeout, load.Cancelled, load.NotStarted}).Draw(t, "outcome"),
			})
		}
		r.State = load.Ended
		f.Follow(r)
		p := f.Progress(time.Time{})
		if p.Success+p.Errors+p.Timeouts+p.Cancelled+p.NotStarted+p.NotDispatched != total || p.InFlight != 0 {
			t.Errorf("%+v", p)
		}
		report := f.Report()
		if report.Overall.Recorded+report.WarmUp+report.NotDispatched != total || report.Total != total {
			t.Errorf("%+v", report)
		}
		sum := 0
		for _, g := range report.Groups {
			sum += g.Recorded
		}
		if sum != report.Overall.Recorded {
			t.Errorf("the groups have %d of %d", sum, report.Overall.Recorded)
		}
	})
}

func TestWhileARunDrainsWhatIsInFlightMayStillEnd(t *testing.T) {
	r := running(t, 10, nil)
	f := folded(t, r, success(0, 9, 10, load.Miss))
	f.Admission(&load.Admission{Number: 1, Attempt: 1})
	if p := f.Progress(moment(0)); p.NotDispatched != 0 || p.InFlight != 1 {
		t.Errorf("%+v", p)
	}
	r.State = load.Draining
	f.Follow(r)
	if p := f.Progress(moment(0)); p.NotDispatched != 8 || p.InFlight != 1 {
		t.Errorf("%+v", p)
	}
	f.Execution(success(1, 9, 10, load.Miss))
	if r := f.Report(); r.NotDispatched != 8 || r.InFlight != 0 || r.Verdict != load.NotYetOver {
		t.Errorf("%+v", r)
	}
}

func TestLR_3_8_PercentilesAreByChartRoleAndCacheStateAndSayWhatTheyMix(t *testing.T) {
	r := running(t, 30, func(r *load.Run) { r.State, r.Ending = load.Ended, load.Completed })
	var all []*load.Execution
	for i, c := range []struct {
		chart int64
		role  string
		cache load.CacheState
		ms    int
	}{{7, "B", load.Hit, 5}, {7, "A", load.Miss, 100}, {9, "A", load.Miss, 300}, {9, "A", load.Hit, 3}, {9, "A", load.Hit, 4}, {77, "A", load.Miss, 1}} {
		e := success(i, c.chart, c.ms, c.cache)
		e.Role = c.role
		all = append(all, e)
	}
	bad := failure(6, load.Error, load.Gateway)
	bad.Role = "A"
	async := success(7, 9, 700, load.Miss)
	async.Role, async.Async = "A", true
	got := folded(t, r, append(all, bad, async)...).Report()
	name := func(g load.Group) string {
		return strings.TrimSpace(fmt.Sprint(g.Chart, " ", g.Role, " ", g.Cache, " ", g.Async, " n=", g.Upstream.Samples, " of ", g.Recorded))
	}
	list := func(groups []load.Group) []string {
		var names []string
		for _, g := range groups {
			names = append(names, name(g))
		}
		return names
	}
	for what, c := range map[string]struct {
		groups []load.Group
		want   []string
	}{
		"groups": {got.Groups, []string{
			"9 A hit false n=2 of 2", "9 A miss false n=1 of 1", "9 A miss true n=1 of 1", "9 A  false n=0 of 1",
			"7 A miss false n=1 of 1", "7 B hit false n=1 of 1", "77 A miss false n=1 of 1",
		}},
		"charts": {got.ByChart, []string{"9   false n=4 of 5", "7   false n=2 of 2", "77   false n=1 of 1"}},
		"roles":  {got.ByRole, []string{"0 A  false n=6 of 7", "0 B  false n=1 of 1"}},
		"states": {got.ByCache, []string{"0  hit false n=3 of 3", "0  miss false n=4 of 4"}},
		"both":   {got.ByBoth, []string{"9  hit false n=2 of 2", "9  miss false n=2 of 2", "7  hit false n=1 of 1", "7  miss false n=1 of 1", "77  miss false n=1 of 1"}},
	} {
		if diff := cmp.Diff(c.want, list(c.groups)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if diff := cmp.Diff([]load.CacheMix{{State: load.Hit, Count: 3}, {State: load.Miss, Count: 4}}, got.Overall.States); diff != "" {
		t.Error(diff)
	}
	if got.ByChart[0].Name != "chart 9" || got.ByChart[0].ErrorRate.Rat().RatString() != "1/5" || !hasDiagnostic(got.Diagnostics, "async_mixed", 1) {
		t.Errorf("%+v", got.ByChart[0])
	}
	if p50 := got.Groups[0].Upstream.P50; p50 == nil || p50.String() != "3" {
		t.Errorf("%+v", got.Groups[0].Upstream)
	}
}

func TestLR_4_6_AFailureHasNoCacheState(t *testing.T) {
	e := failure(0, load.Error, load.Gateway)
	e.Cache = load.Unknown // whatever the record says
	got := folded(t, running(t, 3, nil), e).Report()
	if len(got.ByCache) != 0 || len(got.Groups) != 1 || got.Groups[0].Cache != "" || len(got.Overall.States) != 0 {
		t.Errorf("%+v", got.Groups)
	}
}

func TestTheWarmUpIsInNoNumberButTheCounts(t *testing.T) {
	warm := success(0, 9, 9000, load.Miss)
	warm.WarmUp = true
	cold := failure(1, load.Error, load.Gateway)
	cold.WarmUp = true
	f := folded(t, running(t, 6, func(r *load.Run) { r.Profile.WarmUp = 2 }), warm, cold, success(2, 9, 10, load.Hit))
	r, p := f.Report(), f.Progress(moment(0))
	if r.WarmUp != 2 || r.Overall.Recorded != 1 || r.Overall.Upstream.P99.String() != "10" || len(r.Kinds) != 0 || p.WarmUp != 2 || p.Recorded != 3 || p.Waits.Upstream.Samples != 1 {
		t.Errorf("%+v, %+v", r, p)
	}
	if diff := cmp.Diff(map[string]int{"hit": 1}, p.CacheStates); diff != "" {
		t.Errorf("its cache states are others' than its times: %s", diff)
	}
	if p.Recent.Upstream.Samples != 2 {
		t.Error("the breaker does not look at the warm-up: the server breaks under it as under all else")
	}
}

func TestLR_11_3_AReportIsThatOfItsRecordsByteForByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := running(t, 30, func(r *load.Run) { r.State, r.Ending = load.Ended, load.Completed })
		var records []*load.Execution
		for i := range rapid.IntRange(0, 30).Draw(rt, "records") {
			e := success(i, int64(rapid.IntRange(5, 9).Draw(rt, "chart")), rapid.IntRange(1, 50).Draw(rt, "ms"), rapid.SampledFrom([]load.CacheState{load.Hit, load.Miss}).Draw(rt, "cache"))
			e.Role = rapid.SampledFrom([]string{"A", "B", "C"}).Draw(rt, "role")
			e.DataSHA256 = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "digest")
			if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
				e.Outcome, e.Kind = load.Error, rapid.SampledFrom([]string{load.Gateway, load.Forbidden}).Draw(rt, "kind")
			}
			records = append(records, e)
		}
		write := func(f *load.Fold) string {
			text, err := json.Marshal(f.Report())
			if err != nil {
				rt.Fatal(err)
			}
			return string(text)
		}
		f := folded(t, r, records...)
		f.Progress(moment(1))
		if diff := cmp.Diff(write(f), write(folded(t, r, records...))); diff != "" {
			rt.Error(diff)
		}
		var back load.Report
		if err := json.Unmarshal([]byte(write(f)), &back); err != nil {
			rt.Error(err)
		}
		if again, err := json.Marshal(&back); err != nil || string(again) != write(f) {
			rt.Errorf("%s, %v", again, err)
		}
	})
}
