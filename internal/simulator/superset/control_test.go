package superset_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

func (r *rig) control(path, body string) answer {
	r.t.Helper()
	method := "GET"
	if body != "" {
		method = "POST"
	}
	return r.send(method, "/_fake/"+path, nil, body)
}

func TestControlPaths(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	who := r.login("alpha")
	for _, step := range []struct {
		path, body string
		status     int
	}{
		{"faults", `{"faults": [{"match": {"chart": 101, "end": "1h"}, "action": "status", "status": 503}]}`, 200},
		{"faults", `{"faults": [{"action": "nonsense"}]}`, 400},
		{"faults", `{"faults": [{"action": "hang", "delays": 1}]}`, 400},
		{"config", `{"latency": {"base": {"low": "1ms"}, "charts": {"104": {"shape": "uniform", "low": "1ms", "high": "2ms"}}}, "rate_limit": 1000}`, 200},
		{"config", `{"latency": {"base": {"low": "soon"}}}`, 400},
		{"config", `{"cache": "full"}`, 400},
		{"config", `nonsense`, 400},
		{"mark", `{"name": "here"}`, 200},
		{"clock", `{"advance": "1m"}`, 200},
		{"clock", `{"advance": "-1m"}`, 400},
		{"freeze", `{"for": "1ms"}`, 200},
		{"dependents", `{"dataset": 33, "charts": [{"id": 7, "slice_name": "x"}]}`, 200},
		{"stats?log=x", "", 400},
		{"cache", "", 200},
		{"nothing", "", 404},
	} {
		if a := r.control(step.path, step.body); a.status != step.status {
			t.Errorf("%s %s: status %d: %s", step.path, step.body, a.status, a.body)
		}
	}
	if now := r.Now().Format(time.RFC3339); now != "2026-09-01T10:01:00Z" {
		t.Errorf("it is %s", now)
	}
	config := r.Config()
	if config.RateLimit != 1000 || config.Latency.Base.Low != time.Millisecond || config.Latency.Charts[104].High != 2*time.Millisecond || config.Cache != superset.CacheNormal {
		t.Errorf("config: %+v", config)
	}
	if len(config.Faults) != 1 || config.Faults[0].Match.End != time.Hour {
		t.Errorf("faults: %+v", config.Faults)
	}
	if a := r.ask(who, 101, ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("the fault: %d", a.status)
	}
	var stats superset.Stats
	if err := json.Unmarshal(r.control("stats?log=1", "").body, &stats); err != nil || stats.Since("here").Routes[superset.ChartData] != 1 || len(stats.Log) != 1 || stats.Requests != 2 {
		t.Errorf("stats: %v %+v", err, stats)
	}
	r.control("revoke", `{"identity": "alpha"}`)
	if a := r.ask(who, 104, ""); a.status != http.StatusUnauthorized {
		t.Errorf("revoked: %d", a.status)
	}
	if err := json.Unmarshal(r.control("reset", "{}").body, &stats); err != nil || stats.Requests != 0 {
		t.Errorf("reset: %v %+v", err, stats)
	}
}

func TestAnotherFaultPlanHoldsNothingOfTheOld(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Faults: []superset.Fault{{Action: superset.Status, Status: 503, Message: "old", Match: superset.Match{Chart: 101}}}})
	r.control("config", `{"faults": [{"action": "hang"}]}`)
	if f := r.Config().Faults; len(f) != 1 || f[0].Action != superset.Hang || f[0].Match.Chart != 0 || f[0].Message != "" {
		t.Errorf("faults: %+v", f)
	}
	r.control("config", `{"gzip": true}`)
	if c := r.Config(); len(c.Faults) != 1 || !c.Gzip {
		t.Errorf("what is left out stays: %+v", c)
	}
}

func TestServeAnswersUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	s := superset.New(superset.Config{})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base, wait, err := s.Serve(ctx, ":0")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(base + "/health")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
	cancel()
	if err := errors.Join(wait(), wait()); err != nil {
		t.Errorf("wait: %v", err)
	}
	if _, _, err := s.Serve(t.Context(), "0.0.0.0:0"); !errors.Is(err, superset.ErrNotLoopback) {
		t.Errorf("every address: %v", err)
	}
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config superset.Config
		want   string
	}{
		{superset.Config{}, ""},
		{superset.Config{Profile: "v5"}, "profile is"},
		{superset.Config{Cache: "full"}, "cache is"},
		{superset.Config{RateLimit: -1}, "rate_limit"},
		{superset.Config{Data: superset.Data{Rows: 1 << 40}}, "data.rows"},
		{superset.Config{Latency: superset.Latency{Base: superset.Distribution{Shape: "square"}}}, "latency.base.shape"},
		{superset.Config{Latency: superset.Latency{Charts: map[int64]superset.Distribution{7: {Shape: superset.Uniform, Low: 2, High: 1}}}}, "latency.charts.7.high"},
		{superset.Config{Latency: superset.Latency{Steps: []superset.Step{{Factor: -1}}}}, "factor"},
		{superset.Config{Faults: []superset.Fault{{Action: superset.Status}}}, "fault 0: status"},
		{superset.Config{Faults: []superset.Fault{{Action: superset.Hang, Match: superset.Match{Rate: 2}}}}, "fault 0: rate"},
		{superset.Config{World: &superset.World{Charts: []superset.Chart{{ID: 1, Dataset: 2}}}}, "chart 1 reads the dataset 2"},
	} {
		err := c.config.Validate()
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestFaultMix(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Cache: superset.CacheNull, Faults: superset.FaultMix(0.4)})
	who := r.login("alpha")
	for range 300 {
		r.ask(who, 102, "")
	}
	struck := map[superset.Action]int{}
	for _, request := range r.Stats().Log {
		struck[request.Fault]++
	}
	if n := struck[superset.Refuse] + struck[superset.CutBody] + struck[superset.Status]; n < 80 || n > 160 || len(struck) != 4 {
		t.Errorf("of 300: %v", struck)
	}
}
