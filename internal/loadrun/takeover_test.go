package loadrun_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/pkg/load"
)

var errDead = errors.New("the controller is dead")

// mortal is a bus in memory that its user dies at: of the write that is counted out, it is not known whether it was done, and nothing is done
// after it.
type mortal struct {
	*memory
	mu   sync.Mutex // guards left and done
	left int        // writes until death; below 0: it never dies
	done bool       // whether the last write is done
	dead chan struct{}
}

func newMortal(m *memory, left int, done bool) *mortal {
	return &mortal{memory: m, left: left, done: done, dead: make(chan struct{})}
}

func (m *mortal) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return errDead
	}
	if m.left--; m.left == 0 {
		close(m.dead)
		if m.done {
			_ = do()
		}
		return errDead
	}
	return do()
}

func (m *mortal) SaveRun(ctx context.Context, r *load.Run, revision uint64) (next uint64, err error) {
	err = m.write(func() error { next, err = m.memory.SaveRun(ctx, r, revision); return err })
	return next, err
}

func (m *mortal) SaveRunProgress(ctx context.Context, p *load.Progress) error {
	return m.write(func() error { return m.memory.SaveRunProgress(ctx, p) })
}

func (m *mortal) EnsureRunQueue(ctx context.Context, r *load.Run, wait time.Duration) error {
	return m.write(func() error { return m.memory.EnsureRunQueue(ctx, r, wait) })
}

func (m *mortal) PublishLoadItems(ctx context.Context, items []*load.Item) error {
	half := items[:len(items)/2] // of those that it dies at, some are queued
	_ = m.write(func() error { return m.memory.PublishLoadItems(ctx, half) })
	return m.write(func() error { return m.memory.PublishLoadItems(ctx, items[len(items)/2:]) })
}

func (m *mortal) PurgeRun(ctx context.Context, run string) error {
	return m.write(func() error { return m.memory.PurgeRun(ctx, run) })
}

func (m *mortal) CloseIntake(ctx context.Context, run string) error {
	return m.write(func() error { return m.memory.CloseIntake(ctx, run) })
}

func (m *mortal) SealRun(ctx context.Context, run string) error {
	return m.write(func() error { return m.memory.SealRun(ctx, run) })
}

func (m *mortal) PublishExecution(ctx context.Context, e *load.Execution) error {
	return m.write(func() error { return m.memory.PublishExecution(ctx, e) })
}

// mortalDesk is a desk that dies at a write.
func (h *house) mortalDesk(left int, done bool) *loadrun.Desk {
	ports := h.ports()
	h.at(&ports, newMortal(h.m, left, done))
	return loadrun.NewDesk(loadrun.Config{ID: "c1"}, ports)
}

func TestLR_6_6_WhoeverTakesOverGoesOnWithTheSame(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { takeOver(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

// takeOver plays a run whose controllers die at any of their writes, with or without another one that believes to lead at the same time.
func takeOver(t *testing.T, rng *rand.Rand) {
	h := newHouse(t)
	ctx := t.Context()
	deaths := float64(rng.IntN(2)) * 0.03
	p := wide("dev", func(p *load.Profile) {
		p.Preflight = rng.IntN(3) == 0
		p.WarmUp = rng.IntN(3) * 5
		p.Drain = 5 * time.Second
		switch rng.IntN(4) {
		case 0:
			p.Stages = []load.Stage{{Concurrency: 1, Executions: 30}, {Concurrency: 3}}
		case 1:
			p.Concurrency, p.Arrival = 10, &load.Arrival{PerSecond: 100, Patience: time.Minute}
		}
	})
	r := h.start(ctx, h.ready(ctx, p))
	c := &crew{h: h, run: r.ID, rng: rand.New(rand.NewPCG(rng.Uint64(), 1)), deaths: deaths}
	fails := rng.IntN(2) == 0
	if fails {
		c.answer = failsFrom(rng.IntN(300))
	}
	done := c.work(ctx)
	defer done()
	stopped := rng.IntN(3) == 0
	stop := time.AfterFunc(time.Duration(rng.IntN(6000))*time.Millisecond, func() {
		if stopped {
			for left := range 3 { // it dies before its record, before the intake is closed, and not at all
				_, _ = h.mortalDesk(left+1, left == 1).Stop(ctx, runner, r.ID)
			}
		}
	})
	defer stop.Stop()

	var second func()
	if rng.IntN(3) == 0 { // it believes to lead as well
		second = h.controller(ctx, "zombie", func(p *loadrun.Ports) { h.at(p, newMortal(h.m, rng.IntN(60), true)) })
		defer second()
	}
	for range rng.IntN(12) {
		bus := newMortal(h.m, 1+rng.IntN(25), rng.IntN(2) == 0)
		end := h.controller(ctx, "c1", func(p *loadrun.Ports) { h.at(p, bus) })
		select {
		case <-bus.dead:
			pauseFor(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
		case <-time.After(time.Duration(rng.IntN(20)) * time.Second):
		}
		end()
	}
	defer h.controller(ctx, "last", nil)()
	s := h.ended(ctx, r.ID)
	h.checkCounts(s, c)
	h.checkDecision(s, stopped, deaths == 0)
	select {
	case <-time.After(2 * time.Minute): // what was in hand meets a run that has ended
	case <-ctx.Done():
	}
	h.checkCounts(s, c)
}

func (h *house) at(p *loadrun.Ports, bus *mortal) {
	p.Records, p.Files, p.Queue, p.Intake, p.Executions = bus, bus, bus, bus, bus
}

// checkDecision checks that a run ended as whoever reads its records must decide.
func (h *house) checkDecision(s *load.RunStatus, stopped, alive bool) {
	h.t.Helper()
	snapshot, err := h.m.Snapshot(h.t.Context(), s.Run.Snapshot)
	if err != nil {
		h.t.Fatal(err)
	}
	fold, err := load.NewFold(s.Run, snapshot)
	if err != nil {
		h.t.Fatal(err)
	}
	trippedAt := uint64(0)
	admitted := map[int]int{}
	for _, rec := range h.m.records[s.Run.ID] {
		if rec.admission != nil {
			admitted[rec.admission.Number]++
			fold.Admission(rec.admission)
		} else if fold.Execution(rec.execution) {
			trippedAt = rec.sequence
		}
	}
	for n, times := range admitted {
		if alive && times > 1 {
			h.t.Errorf("%d was sent %d times although no worker died", n, times)
		}
	}
	switch s.Run.Ending {
	case load.Tripped:
		if trippedAt == 0 || s.Run.Trip == nil || fold.Trip().AtCompleted != s.Run.Trip.AtCompleted {
			h.t.Errorf("it tripped at %+v, and its records at %+v", s.Run.Trip, fold.Trip())
		}
	case load.Completed, load.PreflightFailed:
		if trippedAt != 0 && trippedAt < h.m.closed[s.Run.ID] && s.Run.Ending == load.Completed && s.Progress.NotDispatched > 0 {
			h.t.Errorf("it is %s, and its records trip", s.Run.Ending)
		}
	case load.Stopped:
		if !stopped {
			h.t.Error("nobody stopped it")
		}
	default:
		h.t.Errorf("it ended as %s: %s", s.Run.Ending, s.Run.Reason)
	}
}
