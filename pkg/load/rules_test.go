package load_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

func TestLR_2_10_OurOwnLimitIsInNoRateAndNotTheBreakers(t *testing.T) {
	f := folded(t, running(t, 120, nil))
	for i := range 60 {
		if f.Execution(failure(i, load.Cancelled, load.ResourceTimeout)) {
			t.Fatal("it trips the breaker")
		}
	}
	for i := 60; i < 80; i++ {
		f.Execution(success(i, 9, 10, load.Miss))
	}
	r := f.Report()
	if r.Overall.ErrorRate.Part != 0 || r.Overall.Completed != 20 || r.Overall.Cancelled != 60 || !hasDiagnostic(r.Diagnostics, "resource_timeout", 60) {
		t.Errorf("%+v", r.Overall)
	}
}

func TestLR_3_1_EndToEndIsTheSumOfTheThreeWaits(t *testing.T) {
	e := success(0, 9, 10, load.Miss)
	e.Waits = timing.Waits{Queue: 1, Resource: 20, Upstream: 300}
	f := folded(t, running(t, 3, nil), e)
	if p99 := f.Progress(moment(0)).Waits.EndToEnd.P99; e.Waits.EndToEnd() != 321 || *p99 != 321 {
		t.Error(*p99)
	}
}

func TestLR_3_3_TimeInTheQueueIsNoLatencyOfTheServer(t *testing.T) {
	e := success(0, 9, 10, load.Miss)
	e.Waits.Queue, e.Waits.Resource = time.Hour, time.Minute
	o := folded(t, running(t, 3, nil), e).Report().Overall
	if o.Upstream.P99.String() != "10" || o.Queue.P99.String() != "3600000" || o.Resource.P50.String() != "60000" || o.EndToEnd.P99.String() != "3660010" {
		t.Errorf("%+v", o)
	}
}

func TestLR_4_3_OnlyTheAnswersFieldsDecide(t *testing.T) {
	// Whatever else an answer has, as long as the five fields are the same.
	bare := `{"is_cached":true,"cached_dttm":"2026-09-01T10:00:00","cache_timeout":60,"cache_key":"k"`
	for _, more := range []string{"", `,"queried_dttm":null`, `,"rowcount":0,"status":"failed"`, `,"timing":{"db":9000}`, `,"semantic_cache_status":"miss"`} {
		if state, reason := load.CacheStateOf(nil, json.RawMessage(bare+more+"}")); state != load.Hit {
			t.Errorf("%s: %s %s", more, state, reason)
		}
	}
}

func TestLR_5_8_ExecutionsWhoseFiltersWereIgnoredAreCounted(t *testing.T) {
	a, b := success(0, 9, 10, load.Miss), success(1, 9, 10, load.Miss)
	a.Rejected = []string{"region", "shop"}
	if got := folded(t, running(t, 3, nil), a, b).Report().Diagnostics; !hasDiagnostic(got, "filter_rejected", 1) {
		t.Errorf("%+v", got)
	}
}

func TestLR_7_2_AtTheShareItselfTheBreakerTrips(t *testing.T) {
	f := folded(t, running(t, 60, nil))
	for i := range 16 {
		f.Execution(success(i, 9, 10, load.Miss))
	}
	for i := 16; i < 20; i++ {
		if f.Execution(failure(i, load.Timeout, load.Deadline)) {
			t.Fatal("it trips with a fifth")
		}
	}
	f.Execution(success(20, 9, 10, load.Miss))
	if f.Execution(failure(21, load.Error, load.Gateway)) || !f.Execution(failure(22, load.Timeout, load.Deadline)) { // 5 of 22, 6 of 23
		t.Errorf("%+v", f.Trip())
	}
	exact := folded(t, running(t, 60, nil))
	for i := range 15 {
		exact.Execution(success(i, 9, 10, load.Miss))
	}
	for i := 15; i < 20; i++ {
		if tripped := exact.Execution(failure(i, load.Error, load.Gateway)); tripped != (i == 19) { // 5 of 20
			t.Errorf("failure %d: %t", i, tripped)
		}
	}
}

func TestLR_7_3_TheP99OfTheWindowsSuccessesTrips(t *testing.T) {
	f := folded(t, running(t, 60, func(r *load.Run) { r.Profile.Breaker.AbsoluteP99 = "100" }))
	for i := range 19 {
		if f.Execution(success(i, 9, 100, load.Miss)) {
			t.Fatal("it trips below the minimum")
		}
	}
	if !f.Execution(success(19, 9, 1, load.Miss)) {
		t.Error("the 20th does not trip")
	}
	want := []load.Trigger{{Metric: "upstream_p99_ms", Observed: "100", Threshold: "100"}}
	if diff := cmp.Diff(want, f.Trip().Triggers); diff != "" {
		t.Error(diff)
	}
	if got := f.Progress(moment(0)).Breaker.Latency; got.State != "tripped" || got.Observed != "100" {
		t.Errorf("%+v", got)
	}
}

func TestLR_7_5_BothTriggersAtOnceAreBothToldTheErrorsFirst(t *testing.T) {
	f := folded(t, running(t, 120, func(r *load.Run) { r.Profile.Breaker.AbsoluteP99, r.Profile.Breaker.ErrorRate = "50", "0.01" }))
	for i := range 99 {
		f.Execution(success(i, 9, 10, load.Miss))
	}
	if f.Execution(success(99, 9, 100, load.Miss)) { // of 100 successes the p99 is the second slowest
		t.Fatal("one slow one of 100 trips")
	}
	if !f.Execution(failure(100, load.Error, load.Gateway)) { // of the 99 that are left it is the slowest
		t.Fatal("it does not trip")
	}
	want := []load.Trigger{{Metric: "error_rate", Observed: "0.01", Threshold: "0.01"}, {Metric: "upstream_p99_ms", Observed: "100", Threshold: "50"}}
	if diff := cmp.Diff(want, f.Trip().Triggers); diff != "" {
		t.Error(diff)
	}
}

func TestLR_7_8_WhatCompletesAfterTheTripIsCounted(t *testing.T) {
	f := folded(t, running(t, 60, nil))
	for i := range 20 {
		f.Execution(failure(i, load.Error, load.Gateway))
	}
	trip := *f.Trip()
	for i := 20; i < 30; i++ {
		if f.Execution(success(i, 9, 10, load.Miss)) {
			t.Fatal("it trips again")
		}
	}
	f.Execution(failure(30, load.Cancelled, load.DrainOver))
	if diff := cmp.Diff(trip, *f.Trip()); diff != "" {
		t.Error(diff)
	}
	if o := f.Report().Overall; o.Recorded != 31 || o.Success != 10 || o.Errors != 20 || o.Cancelled != 1 {
		t.Errorf("%+v", o)
	}
}

func TestLR_7_9_OnlyWhatIsNotTheServersFaultMayBeLeftOut(t *testing.T) {
	f := folded(t, running(t, 60, func(r *load.Run) { r.Profile.Breaker.Excluded = []string{load.Forbidden} }))
	for i := range 40 {
		if f.Execution(failure(i, load.Error, load.Forbidden)) {
			t.Fatal("an excluded kind trips")
		}
	}
	p := profile(t, "{}")
	for kind, ok := range map[string]bool{load.Forbidden: true, load.BadRequest: true, load.NotFound: true, load.Gateway: false, load.Auth: false, load.Deadline: false, "": false} {
		p.Breaker.Excluded = []string{kind}
		if err := p.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestLR_7_10_TimeInTheQueueTripsNothing(t *testing.T) {
	f := folded(t, running(t, 60, func(r *load.Run) { r.Profile.Breaker.AbsoluteP99 = "100" }))
	for i := range 60 {
		e := success(i, 9, 99, load.Miss)
		e.Waits.Queue, e.Waits.Resource = time.Hour, time.Hour
		if f.Execution(e) {
			t.Fatal("it trips")
		}
	}
}

func TestLR_10_1_PRODIsTheStageOrTheFlag(t *testing.T) {
	for _, c := range []struct {
		stage string
		flag  bool
		want  load.Class
	}{{"PROD", false, load.Prod}, {" prod ", false, load.Prod}, {"DEV", true, load.Prod}, {"", true, load.Prod}, {"DEV", false, load.NonProd}, {"", false, load.NonProd}} {
		if got, err := load.ClassOf(load.Environment{Stage: c.stage, IsProduction: c.flag}); err != nil || got != c.want {
			t.Errorf("%q %t is %s, %v", c.stage, c.flag, got, err)
		}
	}
}

func TestTheProfileOfTheDocumentIsOne(t *testing.T) {
	page, err := os.ReadFile("../../docs/load-runs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## The profile file")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	p, err := load.ParseProfile("docs.yaml", []byte(text))
	if err != nil || p.ID != "sales-overview" || len(p.Stages) != 3 || len(p.Thresholds) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}
