package load_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
)

// ended is the report of a run of chart 9 that took these milliseconds, with thresholds.
func ended(t testing.TB, edit func(r *load.Run), executions ...*load.Execution) *load.Report {
	t.Helper()
	return folded(t, running(t, 300, func(r *load.Run) {
		r.State, r.Ending, r.Ended = load.Ended, load.Completed, moment(60)
		if edit != nil {
			edit(r)
		}
	}), executions...).Report()
}

func TestThresholdsAreJudgedOnTheirOwnExecutions(t *testing.T) {
	slow := success(2, 7, 500, load.Miss)
	slow.Role = "A"
	late := 40 * time.Millisecond
	intended := success(3, 9, 30, load.Hit)
	intended.Late = &late
	executions := []*load.Execution{
		success(0, 9, 10, load.Hit), success(1, 9, 20, load.Miss), slow, intended, failure(4, load.Timeout, load.Deadline), failure(5, load.Error, load.Gateway),
		failure(6, load.Cancelled, load.DrainOver),
	}
	for _, c := range []struct {
		threshold load.Threshold
		observed  string
		samples   int
		passed    bool
	}{
		{load.Threshold{Metric: "upstream_latency_ms.p95", Max: "500"}, "500", 4, true},
		{load.Threshold{Metric: "upstream_latency_ms.p95", Max: "499.999"}, "500", 4, false},
		{load.Threshold{Metric: "upstream_latency_ms.p99", Chart: 9, Max: "30"}, "30", 3, true},
		{load.Threshold{Metric: "upstream_latency_ms.p50", Cache: "miss", Role: "A", Min: "501"}, "500", 1, false},
		{load.Threshold{Metric: "end_to_end_ms.p90", Chart: 9, Cache: "miss", Max: "21", Min: "21"}, "21", 1, true},
		{load.Threshold{Metric: "queue_wait_ms.p99", Max: "1"}, "1", 4, true},
		{load.Threshold{Metric: "resource_wait_ms.p99", Max: "0"}, "0", 4, true},
		{load.Threshold{Metric: "from_intended_ms.p99", Max: "40"}, "40", 1, true},
		{load.Threshold{Metric: "error_rate", Max: "0.166667"}, "0.166667", 6, true},
		{load.Threshold{Metric: "error_rate", Max: "0.166666"}, "0.166667", 6, false},
		{load.Threshold{Metric: "timeout_rate", Chart: 9, Max: "0.2"}, "0.2", 5, true},
		{load.Threshold{Metric: "failure_rate", Max: "0.3"}, "0.333333", 6, false},
		{load.Threshold{Metric: "hit_rate", Min: "0.5"}, "0.5", 4, true},
		{load.Threshold{Metric: "hit_rate", Chart: 7, Min: "0.5"}, "0", 1, false},
		{load.Threshold{Metric: "upstream_latency_ms.p95", Chart: 8, Max: "500"}, "", 0, false}, // no samples
		{load.Threshold{Metric: "error_rate", Role: "Z", Max: "1"}, "", 0, false},
		{load.Threshold{Metric: "hit_rate", Chart: 8, Min: "0"}, "", 0, false},
	} {
		r := ended(t, func(r *load.Run) { r.Profile.Thresholds = []load.Threshold{c.threshold} }, executions...)
		got := r.Thresholds[0]
		if got.Observed != c.observed || got.Samples != c.samples || got.Passed != c.passed || got.Passed != (got.Reason == "") || (r.Verdict == load.Passed) != c.passed {
			t.Errorf("%+v: %+v, %s", c.threshold, got, r.Verdict)
		}
	}
}

func TestAVerdictIsThatOfTheEndingAndTheThresholds(t *testing.T) {
	kept, broken := load.Threshold{Metric: "error_rate", Max: "0"}, load.Threshold{Metric: "error_rate", Min: "1"}
	for _, c := range []struct {
		state      load.State
		ending     load.Ending
		thresholds []load.Threshold
		want       load.Verdict
	}{
		{load.Running, "", []load.Threshold{kept}, load.NotYetOver},
		{load.Ended, load.Completed, nil, load.NoVerdict},
		{load.Ended, load.Completed, []load.Threshold{kept}, load.Passed},
		{load.Ended, load.Completed, []load.Threshold{kept, broken}, load.NotPassed},
		{load.Ended, load.Stopped, []load.Threshold{kept}, load.Passed},
		{load.Ended, load.Tripped, []load.Threshold{kept}, load.NotPassed},
		{load.Ended, load.PreflightFailed, nil, load.NotPassed},
		{load.Ended, load.Failed, nil, load.NotPassed},
	} {
		r := ended(t, func(r *load.Run) { r.State, r.Ending, r.Profile.Thresholds = c.state, c.ending, c.thresholds }, success(0, 9, 1, load.Hit))
		if r.Verdict != c.want {
			t.Errorf("%s %s is %s, want %s", c.state, c.ending, r.Verdict, c.want)
		}
	}
}

func TestJUnitHasACaseForTheEndingAndEachThreshold(t *testing.T) {
	r := ended(t, func(r *load.Run) {
		r.Profile.Thresholds = []load.Threshold{{Metric: "error_rate", Max: "0"}, {Metric: "upstream_latency_ms.p95", Chart: 9, Role: "<A&B>", Max: "5"}}
		r.Ending, r.Reason = load.Tripped, "the breaker <tripped>\x01"
	}, success(0, 9, 10, load.Hit))
	r.Trip = &load.Trip{AtCompleted: 7, Triggers: []load.Trigger{{Metric: "error_rate", Observed: "0.5", Threshold: "0.25"}}}
	r.Findings = []load.Finding{{Chart: 9, Digests: make([]load.DigestCount, 2), TimeDependent: true, OrderOnly: true}}
	text, err := load.JUnit(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suite    struct {
			Name  string `xml:"name,attr"`
			Time  string `xml:"time,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
			Output string `xml:"system-out"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var cases []string
	for _, c := range got.Suite.Cases {
		line := c.Name
		if c.Failure != nil {
			line += " | " + c.Failure.Message + " | " + strings.TrimSpace(c.Failure.Text)
		}
		cases = append(cases, line)
	}
	want := []string{
		"the run completes | ended tripped: the breaker <tripped>\ufffd | error_rate was 0.5 at completion 7, threshold 0.25",
		"error_rate, at most 0",
		`upstream_latency_ms.p95, chart 9, role <A&B>, at most 5 | there are no samples | observed "" over 0 samples`,
	}
	if diff := cmp.Diff(want, cases); diff != "" {
		t.Error(diff)
	}
	if got.Tests != 3 || got.Failures != 2 || got.Suite.Name != "load.prof-7" || got.Suite.Time != "59.000" || !strings.Contains(got.Suite.Output, "time dependent, in their order alone") {
		t.Errorf("%+v", got)
	}
}
