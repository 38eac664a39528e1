package load_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

func TestASeriesHasItsPercentilesByCacheState(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := load.NewSeries(&load.Run{ID: "r1", Created: began.Add(-time.Minute), Started: began})
	for i := range 20 {
		s.Add(&load.Execution{
			Outcome: load.Success, Cache: load.Hit, Finished: began.Add(3*time.Second + time.Duration(i)*time.Millisecond),
			Waits: timing.Waits{Upstream: time.Duration(20-i) * time.Millisecond},
		})
	}
	s.Add(&load.Execution{Outcome: load.Success, Cache: load.Miss, Finished: began.Add(3 * time.Second), Waits: timing.Waits{Upstream: time.Second}})
	s.Add(&load.Execution{Outcome: load.Error, Finished: began.Add(3 * time.Second)})
	s.Add(&load.Execution{Outcome: load.Timeout, Finished: began.Add(-time.Second)}) // by a clock that is behind
	s.Add(&load.Execution{Outcome: load.Cancelled, Finished: began})
	want := &load.Series{Run: "r1", From: began, Step: time.Second, Points: []load.Point{
		{Completed: 1, Timeouts: 1, Cancelled: 1},
		{At: 3 * time.Second, Completed: 22, Errors: 1, Upstream: map[load.CacheState]load.PointLatency{
			load.Hit:  {Samples: 20, P50: 10 * time.Millisecond, P95: 19 * time.Millisecond},
			load.Miss: {Samples: 1, P50: time.Second, P95: time.Second},
		}},
	}}
	if diff := cmp.Diff(want, s.Series()); diff != "" {
		t.Error(diff)
	}
}

func TestALongSeriesHasWiderSteps(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var all []*load.Execution
	for i := range 5000 {
		all = append(all, &load.Execution{Outcome: load.Success, Cache: load.Hit, Finished: began.Add(time.Duration(i) * time.Second), Waits: timing.Waits{Upstream: time.Duration(i)}})
	}
	texts := map[string]bool{}
	for seed := range uint64(3) { // in whatever order they come
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		fold := load.NewSeries(&load.Run{ID: "r1", Started: began})
		for _, e := range all {
			fold.Add(e)
		}
		s := fold.Series()
		completed := 0
		for _, p := range s.Points {
			completed += p.Completed
		}
		if s.Step != 16*time.Second || len(s.Points) > load.MaxPoints || completed != 5000 {
			t.Errorf("%d points of %s have %d", len(s.Points), s.Step, completed)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		texts[string(text)] = true
	}
	if len(texts) != 1 {
		t.Error("the order makes a difference")
	}
}

func TestADifferenceOfDependentsIsToldBothWays(t *testing.T) {
	a, b, c := load.Dependent{Kind: "chart", ID: 1}, load.Dependent{Kind: "chart", ID: 2}, load.Dependent{Kind: "dashboard", ID: 1}
	added, removed := load.Diff([]load.Dependent{a, b}, []load.Dependent{b, c})
	if len(added) != 1 || added[0] != c || len(removed) != 1 || removed[0] != a {
		t.Errorf("added %v, removed %v", added, removed)
	}
}
