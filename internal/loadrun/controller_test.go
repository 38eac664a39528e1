package loadrun_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/pkg/load"
)

// play starts a run of a profile, leads it, and works on it to its end.
func (h *house) play(p *load.Profile, edit func(*crew)) (*load.RunStatus, *crew) {
	h.t.Helper()
	ctx := h.t.Context()
	r := h.start(ctx, h.ready(ctx, p))
	c := &crew{h: h, run: r.ID, rng: rand.New(rand.NewPCG(1, 2))}
	if edit != nil {
		edit(c)
	}
	done := c.work(ctx)
	defer done()
	defer h.controller(ctx, "c1", nil)()
	return h.ended(ctx, r.ID), c
}

// checkCounts checks that a run's counts are those of its records, and add up (LR-11.1, LR-6.6).
func (h *house) checkCounts(s *load.RunStatus, c *crew) *load.Report {
	h.t.Helper()
	r, p := s.Run, s.Progress
	if r.State != load.Ended || p == nil {
		h.t.Fatalf("the run is %+v", s)
	}
	if sum := p.Success + p.Errors + p.Timeouts + p.Cancelled + p.NotStarted + p.NotDispatched; sum != r.Total || p.InFlight != 0 {
		h.t.Errorf("the counts are %+v, of %d", p, r.Total)
	}
	if h.m.closed[r.ID] == 0 || h.m.again > 0 {
		h.t.Errorf("the intake was closed at %d; %d were queued that had a record", h.m.closed[r.ID], h.m.again)
	}
	numbers, admissions := map[int]load.Outcome{}, 0
	for _, rec := range h.m.records[r.ID] {
		if rec.admission != nil {
			admissions++
			if closed := h.m.closed[r.ID]; closed != 0 && rec.sequence > closed {
				h.t.Errorf("%d was admitted after the intake had been closed", rec.admission.Number)
			}
			continue
		}
		if _, counted := numbers[rec.execution.Number]; !counted {
			numbers[rec.execution.Number] = rec.execution.Outcome
		}
	}
	if p.RequestsSent != admissions || c != nil && c.sent != admissions {
		h.t.Errorf("requests: %d are told, %d admitted, %d came to the service", p.RequestsSent, admissions, c.sent)
	}
	if len(numbers) != p.Recorded {
		h.t.Errorf("%d numbers have a record, %d are told", len(numbers), p.Recorded)
	}
	report, err := h.desk.Report(h.t.Context(), r.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	again, err := h.newDesk().Report(h.t.Context(), r.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	x, _ := json.Marshal(report)
	if y, _ := json.Marshal(again); !bytes.Equal(x, y) {
		h.t.Errorf("two reports of one run differ:\n%s\n%s", x, y)
	}
	return report
}

func TestLR_11_1_ARunGoesThroughAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, c := h.play(profile("dev", nil), nil)
		h.checkCounts(s, c)
		if s.Run.Ending != load.Completed || s.Progress.Success != 12 || c.sent != 12 {
			t.Errorf("%+v %+v", s.Run, s.Progress)
		}
	})
}

func TestLR_1_2_ExecutionsAreTakenInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		_, c := h.play(profile("dev", nil), nil)
		if !slices.IsSorted(c.came) || len(c.came) != 12 || !slices.Equal(h.m.published[c.run], c.came) {
			t.Errorf("they were queued as %v and came as %v", h.m.published[c.run], c.came)
		}
	})
}

func TestLR_1_3_ARunHasItsCapacityAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		_, c := h.play(profile("dev", nil), nil)
		if c.most != 3 {
			t.Errorf("%d were in hand at a time", c.most)
		}
	})
}

// wide is a profile of 300 executions.
func wide(environment string, edit func(*load.Profile)) *load.Profile {
	return profile(environment, func(p *load.Profile) {
		var ranges []string
		for i := range 150 {
			ranges = append(ranges, fmt.Sprintf(`"2026-01-01 : 2026-01-%03d"`, i))
		}
		p.Axes = json.RawMessage(`{"time_range":[` + strings.Join(ranges, ",") + `]}`)
		if edit != nil {
			edit(p)
		}
	})
}

func failsFrom(n int) func(int) load.Answer {
	return func(number int) load.Answer {
		if number >= n {
			return load.Answer{Outcome: load.Error, Kind: load.ServerError, Upstream: 20 * time.Millisecond}
		}
		return load.Answer{Outcome: load.Success, Cache: load.Hit, Upstream: 5 * time.Millisecond}
	}
}

func TestLR_7_6_ATripClosesTheIntakeForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.m.onSave = func(r *load.Run) {
			if closed, _ := h.m.IntakeClosed(t.Context(), r.ID); r.State == load.Draining && !closed {
				t.Error("the record says that it drains before the intake is closed")
			}
		}
		s, c := h.play(wide("dev", nil), func(c *crew) { c.answer = failsFrom(60) })
		report := h.checkCounts(s, c)
		r := s.Run
		if r.Ending != load.Tripped || r.Trip == nil || len(r.Trip.Triggers) != 1 || r.Trip.Triggers[0].Metric != "error_rate" || s.Progress.Breaker.State != "tripped" {
			t.Fatalf("%+v, %+v", r, r.Trip)
		}
		// Whoever has a place when the breaker trips may have been admitted already, and no other.
		if after := h.admittedAfter(r); after > r.Slots {
			t.Errorf("%d were admitted after the trip", after)
		}
		if s.Progress.NotDispatched == 0 || s.Progress.Errors > 40 || report.Trip == nil || report.Trip.AtCompleted != r.Trip.AtCompleted {
			t.Errorf("%+v", s.Progress)
		}
		if report.Verdict != load.NotPassed || r.Verdict != load.NotPassed || r.Reason == "" {
			t.Errorf("the verdict is %s and %s, for %q", report.Verdict, r.Verdict, r.Reason)
		}
	})
}

func TestLR_1_5_AStopAdmitsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx := t.Context()
		r := h.start(ctx, h.ready(ctx, wide("dev", nil)))
		c := &crew{h: h, run: r.ID, rng: rand.New(rand.NewPCG(1, 2))}
		defer c.work(ctx)()
		defer h.controller(ctx, "c1", nil)()
		pauseFor(ctx, 2*time.Second)
		if _, err := h.desk.Stop(ctx, runner, r.ID); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		sent := c.sent
		c.mu.Unlock()
		s := h.ended(ctx, r.ID)
		h.checkCounts(s, c)
		if s.Run.Ending != load.Stopped || s.Run.StoppedBy != "ann" || c.sent != sent || sent == 0 || s.Progress.Success == 0 || s.Progress.NotDispatched == 0 {
			t.Errorf("%d requests before the stop, %d after: %+v", sent, c.sent-sent, s.Progress)
		}
		if _, err := h.desk.Stop(ctx, runner, r.ID); err == nil {
			t.Error("a run that has ended was stopped")
		}
	})
}

func TestLR_1_5_AStopWhoseDeskDiesIsGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx := t.Context()
		r := h.start(ctx, h.ready(ctx, wide("dev", nil)))
		c := &crew{h: h, run: r.ID, rng: rand.New(rand.NewPCG(1, 2))}
		defer c.work(ctx)()
		defer h.controller(ctx, "c1", nil)()
		pauseFor(ctx, 2*time.Second)
		if _, err := h.mortalDesk(2, false).Stop(ctx, runner, r.ID); !errors.Is(err, errDead) {
			t.Fatalf("the desk lives: %v", err)
		}
		s := h.ended(ctx, r.ID)
		h.checkCounts(s, c)
		if s.Run.Ending != load.Stopped {
			t.Errorf("%+v", s.Run)
		}
	})
}

func TestAStopNeedsNoController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx := t.Context()
		r := h.start(ctx, h.ready(ctx, wide("dev", nil)))
		if _, err := h.desk.Stop(ctx, runner, r.ID); err != nil {
			t.Fatal(err)
		}
		if closed, _ := h.m.IntakeClosed(ctx, r.ID); !closed {
			t.Error("the intake is open")
		}
		defer h.controller(ctx, "c1", nil)()
		if s := h.ended(ctx, r.ID); s.Run.Ending != load.Stopped || s.Progress.NotDispatched != 300 || len(h.m.published[r.ID]) != 0 {
			t.Errorf("%+v", s.Progress)
		}
	})
}

func TestLR_1_6_WhatDoesNotEndInTimeIsRecordedAsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx := t.Context()
		r := h.start(ctx, h.ready(ctx, profile("dev", func(p *load.Profile) { p.Drain = 10 * time.Second })))
		c := &crew{h: h, run: r.ID, rng: rand.New(rand.NewPCG(1, 2))}
		c.answer = func(int) load.Answer { return load.Answer{Outcome: load.Success, Upstream: time.Hour} }
		done := c.work(ctx)
		defer done()
		defer h.controller(ctx, "c1", nil)()
		pauseFor(ctx, time.Second)
		before := time.Now()
		if _, err := h.desk.Stop(ctx, runner, r.ID); err != nil {
			t.Fatal(err)
		}
		s := h.ended(ctx, r.ID)
		h.checkCounts(s, c)
		if s.Progress.Cancelled != 3 || s.Progress.Kinds[load.DrainOver] != 0 && s.Progress.Kinds[load.DrainOver] != 3 || time.Since(before) > 20*time.Second {
			t.Errorf("after %s: %+v", time.Since(before), s.Progress)
		}
		e, err := h.desk.Execution(ctx, r.ID, 0)
		if err != nil || e.Outcome != load.Cancelled || e.Kind != load.DrainOver || e.Requests != 1 || e.Chart != 100 {
			t.Errorf("%+v, %v", e, err)
		}
	})
}

func TestLR_6_4_ProgressIsToldFourTimesASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, _ := h.play(wide("dev", nil), nil)
		told := h.m.told[s.Run.ID]
		if len(told) < 10 {
			t.Fatalf("progress was told %d times", len(told))
		}
		for i := 4; i < len(told)-1; i++ { // the last state is always told
			if told[i].Sub(told[i-4]) < time.Second {
				t.Errorf("progress was told five times in %s", told[i].Sub(told[i-4]))
			}
		}
		if s.Progress.Recorded != 300 {
			t.Errorf("the last progress is %+v", s.Progress)
		}
	})
}

func TestLR_7_9_AFailedPreflightEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, c := h.play(wide("dev", func(p *load.Profile) { p.Preflight = true }), func(c *crew) {
			c.answer = func(n int) load.Answer {
				if n == 1 {
					return load.Answer{Outcome: load.Error, Kind: load.Forbidden, Upstream: time.Millisecond}
				}
				return load.Answer{Outcome: load.Success, Cache: load.Hit, Upstream: time.Millisecond}
			}
		})
		h.checkCounts(s, c)
		if s.Run.Ending != load.PreflightFailed || c.sent > 2 || !strings.Contains(s.Run.Reason, "chart 101: forbidden") {
			t.Errorf("%d requests: %s, %s", c.sent, s.Run.Ending, s.Run.Reason)
		}
	})
}

func TestLR_7_9_APreflightComesBeforeAllElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		var first time.Time
		s, c := h.play(profile("dev", func(p *load.Profile) { p.Preflight = true }), func(c *crew) {
			c.begun = func(n int, at, _ time.Time) {
				if n == 2 {
					first = at
				}
			}
		})
		h.checkCounts(s, c)
		for _, rec := range h.m.records[s.Run.ID] {
			if e := rec.execution; e != nil && e.Number < 2 && e.Finished.After(first) {
				t.Errorf("%d ended after others had begun", e.Number)
			}
		}
		if s.Run.Ending != load.Completed || c.sent != 12 {
			t.Errorf("%+v", s.Run)
		}
	})
}

func TestStagesSetTheConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		p := wide("dev", func(p *load.Profile) {
			p.Concurrency = 10
			p.Stages = []load.Stage{{Concurrency: 1, Executions: 20}, {Concurrency: 4, Lasts: 2 * time.Second}, {Concurrency: 10}}
		})
		began := map[int]time.Time{}
		s, c := h.play(p, func(c *crew) {
			c.begun = func(n int, at, _ time.Time) { c.mu.Lock(); began[n] = at; c.mu.Unlock() }
		})
		h.checkCounts(s, c)
		if s.Run.Stage != 2 || s.Run.Ending != load.Completed || c.most != s.Run.Capacity.Effective {
			t.Errorf("%d at a time, %+v", c.most, s.Run)
		}
		if second := began[21].Sub(began[0]); second < 20*10*time.Millisecond {
			t.Errorf("the second stage began after %s", second)
		}
	})
}

func TestTheLastStageMayEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, c := h.play(wide("dev", func(p *load.Profile) { p.Stages = []load.Stage{{Concurrency: 2, Lasts: 3 * time.Second}} }), nil)
		h.checkCounts(s, c)
		if s.Run.Ending != load.Completed || s.Progress.NotDispatched == 0 || s.Progress.Success < 20 || s.Run.Closed.Sub(s.Run.Started) > 4*time.Second {
			t.Errorf("%+v %+v", s.Run, s.Progress)
		}
	})
}

func TestWithAnArrivalRateExecutionsAreQueuedAtTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		late := 0
		s, c := h.play(wide("dev", func(p *load.Profile) {
			p.Concurrency, p.Arrival = 10, &load.Arrival{PerSecond: 20, Patience: time.Second}
		}), func(c *crew) {
			c.begun = func(_ int, at, want time.Time) {
				if want.IsZero() || at.Before(want) || at.Sub(want) > 200*time.Millisecond {
					c.mu.Lock()
					late++
					c.mu.Unlock()
				}
			}
		})
		h.checkCounts(s, c)
		if took := s.Run.Closed.Sub(s.Run.Started); late > 0 || took < 299*50*time.Millisecond || took > 16*time.Second {
			t.Errorf("%d were not at their time; it took %s", late, took)
		}
	})
}

func TestTheWarmUpIsKeptApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, c := h.play(profile("dev", func(p *load.Profile) { p.WarmUp = 4 }), nil)
		report := h.checkCounts(s, c)
		if report.WarmUp != 4 || report.Overall.Upstream.Samples != 8 {
			t.Errorf("%d are of the warm-up, and %d samples", report.WarmUp, report.Overall.Upstream.Samples)
		}
	})
}

func TestLR_6_7_AWorkerThatDiesCostsARequestAndNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, c := h.play(wide("dev", nil), func(c *crew) { c.deaths = 0.1 })
		report := h.checkCounts(s, c)
		if s.Run.Ending != load.Completed || s.Progress.Success != 300 || c.sent <= 300 || report.RequestsSent != c.sent {
			t.Errorf("%d requests: %+v", c.sent, s.Progress)
		}
	})
}

func TestLR_9_4_WhatChangesMeanwhileDoesNotChangeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		ctx := t.Context()
		r := h.start(ctx, h.ready(ctx, profile("dev", nil)))
		h.change(func() { h.charts, h.dependents = 7, nil })
		h.ready(ctx, profile("dev", func(p *load.Profile) { p.Cap, p.Force = 1, true }))
		c := &crew{h: h, run: r.ID, rng: rand.New(rand.NewPCG(1, 2))}
		defer c.work(ctx)()
		defer h.controller(ctx, "c1", nil)()
		s := h.ended(ctx, r.ID)
		report := h.checkCounts(s, c)
		if s.Progress.Success != 12 || report.ChartCount != 2 || s.Run.Fingerprint != r.Fingerprint || s.Run.Profile.Revision != 1 {
			t.Errorf("%+v", s.Run)
		}
	})
}

func TestRunsThatEndedLongAgoAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		s, _ := h.play(profile("dev", nil), nil)
		ports := h.ports()
		ports.Leader = newLeader()
		c, err := loadrun.NewController(loadrun.Config{ID: "c2", Keep: time.Hour}, ports)
		if err != nil {
			t.Fatal(err)
		}
		stop := lead(t, c)
		pauseFor(t.Context(), 30*time.Minute)
		if _, err := h.desk.Run(t.Context(), s.Run.ID); err != nil {
			t.Errorf("after half an hour: %v", err)
		}
		pauseFor(t.Context(), time.Hour)
		stop()
		if _, err := h.desk.Run(t.Context(), s.Run.ID); err == nil {
			t.Error("it is kept for ever")
		}
	})
}

// admittedAfter counts the admissions behind the record that trips the breaker.
func (h *house) admittedAfter(r *load.Run) (after int) {
	h.t.Helper()
	snapshot, err := h.m.Snapshot(h.t.Context(), r.Snapshot)
	if err != nil {
		h.t.Fatal(err)
	}
	fold, err := load.NewFold(r, snapshot)
	if err != nil {
		h.t.Fatal(err)
	}
	tripped := false
	for _, rec := range h.m.records[r.ID] {
		switch {
		case rec.execution != nil:
			tripped = fold.Execution(rec.execution) || tripped
		case tripped:
			after++
		}
	}
	return after
}
