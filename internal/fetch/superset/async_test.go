package superset

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

func TestLR_4_5_AnAsynchronousAnswerIsFollowed(t *testing.T) {
	for _, profile := range []simulator.Profile{simulator.V4, simulator.V6, simulator.Dev} {
		t.Run(string(profile), func(t *testing.T) {
			r := newRig(t, simulator.Config{Profile: profile, Async: true})
			c := r.worker("a")
			one, two := r.chart(101, "Gamma"), r.chart(103, "Gamma")
			one.Async, two.Async = true, true
			first := execute(t, c, one)
			if first.Outcome != load.Success || !first.Async || first.Polls < 2 || first.Requests != 1 || first.Cache != load.Miss || first.DataSHA256 == "" || first.Status != 200 {
				t.Errorf("%+v", first)
			}
			if again := execute(t, c, one); again.Async || again.Cache != load.Hit || again.DataSHA256 != first.DataSHA256 {
				t.Errorf("what is in the cache: %+v", again)
			}
			several := execute(t, c, two)
			want, reason := load.Unknown, "async_partial"
			if profile == simulator.Dev {
				want, reason = load.Miss, "" // it names a task for each query
			}
			if several.Cache != want || several.Queries[1].Reason != reason || !several.Async {
				t.Errorf("two queries: %s, %+v", several.Cache, several.Queries)
			}
			one.Force = true
			if forced := execute(t, c, one); forced.Cache != load.Bypassed || forced.Async != (profile == simulator.Dev) {
				t.Errorf("forced: %s %s, async: %t", forced.Cache, forced.Message, forced.Async)
			}
		})
	}
}

func TestAnAsynchronousAnswerThatIsNotFollowedSaysWhatToSet(t *testing.T) {
	r := newRig(t, simulator.Config{Profile: simulator.V6, Async: true})
	a := execute(t, r.worker("a"), r.chart(101, "Gamma"))
	if a.Outcome != load.Error || a.Kind != load.BadBody || !strings.Contains(a.Message, "async: true") || a.Polls != 0 || r.counted() != 1 {
		t.Errorf("%+v", a)
	}
}

func TestAQueryThatFailsInTheBackgroundFails(t *testing.T) {
	for _, profile := range []simulator.Profile{simulator.V4, simulator.Dev} {
		t.Run(string(profile), func(t *testing.T) {
			r := newRig(t, simulator.Config{Profile: profile, Async: true})
			request, c := r.chart(101, "Gamma"), r.worker("a")
			request.Async = true
			if err := r.SetFaults(simulator.Fault{Action: simulator.QueryFailed}); err != nil {
				t.Fatal(err)
			}
			if a := execute(t, c, request); a.Outcome != load.Error || a.Kind != load.QueryFailed || a.Cache != "" || a.Upstream <= 0 {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestTheDeadlineHoldsForTheWholeOfAnAsynchronousAnswer(t *testing.T) {
	r := newRig(t, simulator.Config{Profile: simulator.V4, Async: true, Latency: simulator.Latency{Base: simulator.Distribution{Low: time.Minute}}})
	request := r.chart(101, "Gamma")
	request.Async, request.Deadline = true, 100*time.Millisecond
	if a := execute(t, r.worker("a"), request); a.Outcome != load.Timeout || a.Kind != load.Deadline || !a.Async {
		t.Errorf("%+v", a)
	}
}

func TestTheAddressOfAnAnswerIsItsNameAlone(t *testing.T) {
	for address, want := range map[string]string{
		"/api/v1/chart/data/qc-77aa":                        "/api/v1/chart/data/qc-77aa",
		"https://elsewhere.example/x/api/v1/chart/data/a_1": "/api/v1/chart/data/a_1",
		"/api/v1/chart/data/../../security/login":           "", "/api/v1/chart/data/": "", "": "", "::": "", "/api/v1/chart/data/a%2Fb": "",
	} {
		got, err := resultCall(address)
		if got.path != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", address, got.path, err)
		}
	}
	for text, ok := range map[string]bool{
		`{"job_id": "j1"}`: true, `{"job_id": "j 1"}`: false, `{"task_ids": ["a", "b"], "cursor": "c"}`: true, `{"task_ids": []}`: false, `{"task_ids": ["a/b"]}`: false, `{}`: false, `x`: false,
		`{"task_ids": [` + strings.TrimSuffix(strings.Repeat(`"a",`, maxQueries+1), ",") + `]}`: false,
	} {
		if _, got := asyncOf([]byte(text)); got != ok {
			t.Errorf("%.60s: %t", text, got)
		}
	}
}

func TestManyAsynchronousAnswersShareOneChannel(t *testing.T) {
	r := newRig(t, simulator.Config{Profile: simulator.V4, Async: true})
	c := r.worker("a")
	var requests []load.Request
	for i, id := range []int64{101, 102, 103, 104, 106, 107, 109} {
		request := r.chart(id, "Gamma")
		request.Async, request.Variation.TimeRange = true, fmt.Sprintf("Last %d days", i+3)
		requests = append(requests, request)
	}
	together(len(requests), func(i int) {
		if a, err := c.Execute(context.Background(), requests[i], load.Places{}); err != nil || a.Outcome != load.Success {
			t.Errorf("chart %d: %s %s %v", requests[i].Chart.ID, a.Kind, a.Message, err)
		}
	})
}
