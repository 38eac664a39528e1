package loadrun_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// flaky is a store of places that may be away.
type flaky struct {
	lease.Store
	away atomic.Bool
}

func (f *flaky) Get(ctx context.Context, key string) (lease.Entry, error) {
	if f.away.Load() {
		return lease.Entry{}, messages.ErrUnreachable
	}
	return f.Store.Get(ctx, key)
}

func TestARunThatNoWorkerServesEndsAsFailed(t *testing.T) {
	for _, preflight := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t)
			r := h.start(t.Context(), h.ready(t.Context(), profile("dev", func(p *load.Profile) { p.Preflight = preflight })))
			places := &flaky{Store: lease.NewMemory(0)}
			begun := time.Now()
			defer h.controller(t.Context(), "c1", func(p *loadrun.Ports) { p.Places = places })()

			// A worker that waits behind another run's executions holds a place, whatever else it does.
			last := lease.Name{Service: "dev", Capacity: load.PlacesOf(r.ID)}.Slot(load.MaxPlaces - 1)
			held, err := places.Put(t.Context(), last, []byte("w1"), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			pauseFor(t.Context(), time.Hour)
			if _, err := places.Put(t.Context(), last, nil, held, 0); err != nil {
				t.Fatal(err)
			}
			// While nobody can reach the store, nothing is known of workers.
			pauseFor(t.Context(), 5*time.Minute)
			places.away.Store(true)
			pauseFor(t.Context(), time.Hour)
			places.away.Store(false)
			if s, err := h.desk.Run(t.Context(), r.ID); err != nil || !s.Run.State.Active() {
				t.Fatalf("after %s: %+v, %v", time.Since(begun), s.Run, err)
			}
			back := time.Now()

			s := h.ended(t.Context(), r.ID)
			if s.Run.Ending != load.Failed || s.Run.Verdict != load.NotPassed || !strings.Contains(s.Run.Reason, "no worker has taken part") || !strings.Contains(s.Run.Reason, "of dev") {
				t.Errorf("it ended as %s, %s: %s", s.Run.Ending, s.Run.Verdict, s.Run.Reason)
			}
			if took := time.Since(back); took < 8*time.Minute || took > 12*time.Minute {
				t.Errorf("it took %s", took)
			}
			if s.Progress.NotDispatched != r.Total || s.Progress.RequestsSent != 0 {
				t.Errorf("%+v", s.Progress)
			}
		})
	}
}

func TestOnARealBusARunThatNoWorkerCanReadEndsAsFailed(t *testing.T) {
	s := newSite(t)
	s.unserved = 2 * time.Second
	s.work()
	v := s.ready(t.Context(), profile("dev", nil))
	s.garbled.Store(true)
	r := s.start(t.Context(), v)
	s.control("c1")
	status := s.ended(t.Context(), r.ID)
	if status.Run.Ending != load.Failed || !strings.Contains(status.Run.Reason, "no worker has taken part") || s.requests() != 0 {
		t.Errorf("it ended as %s: %s; %d requests", status.Run.Ending, status.Run.Reason, s.requests())
	}
}

// Who takes part in a run holds one of its places as the controller looks for them.
func TestOnARealBusWhoTakesPartIsSeen(t *testing.T) {
	s := newSite(t)
	ready, arrived := make(chan struct{}), make(chan struct{}, 100)
	s.answer = func(int) load.Answer {
		arrived <- struct{}{}
		<-ready
		return load.Answer{Outcome: load.Success, Status: 200, Cache: load.Miss, Upstream: time.Millisecond}
	}
	s.work()
	r := s.start(t.Context(), s.ready(t.Context(), profile("dev", nil)))
	first := s.control("c1")
	testkit.Receive(t, "request", arrived)
	if err := first.Stop(t); err != nil {
		t.Fatal(err)
	}
	s.unserved = time.Second // of who leads now: several times over before the request has its answer
	s.control("c2")
	pauseFor(t.Context(), 5*time.Second)
	close(ready)
	if status := s.ended(t.Context(), r.ID); status.Run.Ending != load.Completed || status.Progress.Success != r.Total {
		t.Errorf("it ended as %s: %s", status.Run.Ending, status.Run.Reason)
	}
}
