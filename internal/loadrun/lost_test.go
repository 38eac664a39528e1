package loadrun_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
)

// byHand is a run whose workers are the test.
type byHand struct {
	*house
	run    *load.Run
	places lease.Store
}

func newByHand(t *testing.T) *byHand {
	h := newHouse(t)
	r := h.start(t.Context(), h.ready(t.Context(), profile("dev", func(p *load.Profile) { p.Deadline = 10 * time.Minute })))
	return &byHand{h, r, lease.NewMemory(0)}
}

func (b *byHand) lead(t *testing.T) (stop func()) {
	stop = b.controller(t.Context(), "c1", func(p *loadrun.Ports) { p.Places = b.places })
	synctest.Wait()
	return stop
}

// hold has a worker hold a place of the run for so long.
func (b *byHand) hold(t *testing.T, n int, worker string, ttl time.Duration) {
	t.Helper()
	value, err := json.Marshal(lease.Holding{Lease: "l", Worker: worker})
	if err == nil {
		_, err = b.places.Put(t.Context(), lease.Name{Service: "dev", Capacity: load.PlacesOf(b.run.ID)}.Slot(n), value, 0, ttl)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *byHand) admit(t *testing.T, number, attempt int, worker string) {
	t.Helper()
	if err := b.m.Admit(t.Context(), &load.Admission{V: load.Version, Run: b.run.ID, Number: number, Attempt: attempt, Worker: worker, At: time.Now()}, 0); err != nil {
		t.Fatal(err)
	}
}

func (b *byHand) record(t *testing.T, number, attempt int) {
	t.Helper()
	now := time.Now()
	err := b.m.PublishExecution(t.Context(), &load.Execution{
		V: load.Version, Run: b.run.ID, Number: number, Attempt: attempt, Chart: int64(100 + number%b.run.Charts), Outcome: load.Success, Cache: load.Miss,
		Clock: load.Clock{Source: "stream"}, Enqueued: now, Taken: now, Admitted: now, Finished: now, Worker: "w1",
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *byHand) stands(t *testing.T) *load.RunStatus {
	t.Helper()
	s, err := b.desk.Run(t.Context(), b.run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func note(s *load.RunStatus, code string) string {
	for _, d := range s.Progress.Diagnostics {
		if d.Code == code {
			return d.Text
		}
	}
	return ""
}

func TestWhatIsLostWithItsWorkerIsNotInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newByHand(t)
		defer b.lead(t)()
		b.hold(t, 0, "alive", 0)
		b.hold(t, 1, "dead", 30*time.Second)
		b.admit(t, 0, 1, "alive")
		b.admit(t, 1, 1, "dead")
		pauseFor(t.Context(), 20*time.Second)
		if p := b.stands(t).Progress; p.InFlight != 2 || p.Lost != 0 {
			t.Errorf("while the lease stands: %d in flight, %d lost", p.InFlight, p.Lost)
		}
		pauseFor(t.Context(), 15*time.Second)
		if p := b.stands(t).Progress; p.InFlight != 1 || p.Lost != 1 {
			t.Errorf("after it: %d in flight, %d lost", p.InFlight, p.Lost)
		}
		b.hold(t, 2, "other", 0)
		b.admit(t, 1, 2, "other")
		pauseFor(t.Context(), 2*time.Second)
		if p := b.stands(t).Progress; p.InFlight != 2 || p.Lost != 0 {
			t.Errorf("as it is sent again: %d in flight, %d lost", p.InFlight, p.Lost)
		}
	})
}

func TestAnItemIsLeftWithASilentWorkerForItsLeaseAndNotForItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newByHand(t)
		defer b.lead(t)()
		if wait := b.m.ackWait[b.run.ID]; wait < 30*time.Second || wait > 40*time.Second {
			t.Errorf("%s, with leases of 30 s", wait)
		}
	})
}

func TestARunDoesNotEndWhileALaterAttemptIsInFlight(t *testing.T) {
	for name, early := range map[string]bool{"admitted before the record of the earlier one": true, "admitted behind it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newByHand(t)
				defer b.lead(t)()
				b.hold(t, 0, "w2", 0)
				b.admit(t, 0, 1, "w1")
				if early {
					b.admit(t, 0, 2, "w2")
				}
				b.record(t, 0, 1)
				if !early {
					b.admit(t, 0, 2, "w2")
				}
				for n := 1; n < b.run.Total; n++ {
					b.admit(t, n, 1, "w2")
					b.record(t, n, 1)
				}
				pauseFor(t.Context(), 5*time.Second)
				if s := b.stands(t); s.Run.State != load.Draining || s.Progress.InFlight != 1 {
					t.Errorf("%s with %d in flight", s.Run.State, s.Progress.InFlight)
				}
				b.record(t, 0, 2)
				pauseFor(t.Context(), time.Second)
				if s := b.stands(t); s.Run.State != load.Ended || s.Run.Ending != load.Completed || s.Progress.Success != b.run.Total {
					t.Errorf("%s %+v", s.Run.State, s.Progress)
				}
			})
		})
	}
}

func TestThatNoWorkerIsThereIsToldSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newByHand(t)
		defer b.lead(t)()
		pauseFor(t.Context(), 10*time.Second)
		if text := note(b.stands(t), "no_worker"); !strings.Contains(text, "no worker takes part in it") || !strings.Contains(text, "dev") {
			t.Errorf("%q", text)
		}
		b.hold(t, 0, "w1", 0)
		pauseFor(t.Context(), 3*time.Second)
		if text := note(b.stands(t), "no_worker"); text != "" {
			t.Errorf("with a worker: %q", text)
		}
	})
}

func TestRunsThatShareACapacityNameEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newByHand(t)
		defer b.lead(t)()
		other := b.start(t.Context(), b.ready(t.Context(), profile("dev", func(p *load.Profile) { p.ID = "other" })))
		pauseFor(t.Context(), 2*time.Second)
		if text := note(b.stands(t), "shared_capacity"); !strings.Contains(text, other.ID+" (other)") || !strings.Contains(text, "at most") {
			t.Errorf("%q", text)
		}
		if _, err := b.desk.Stop(t.Context(), operator, other.ID); err != nil {
			t.Fatal(err)
		}
		b.ended(t.Context(), other.ID)
		pauseFor(t.Context(), 2*time.Second)
		if text := note(b.stands(t), "shared_capacity"); text != "" {
			t.Errorf("alone: %q", text)
		}
	})
}

func TestWhatADeadProcessLeftRunningEndsWhenItWasLastHeardOf(t *testing.T) {
	for name, stopped := range map[string]bool{"as it ran": false, "as it drained": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newByHand(t)
				died := b.lead(t)
				b.hold(t, 0, "w1", 0)
				b.admit(t, 0, 1, "w1")
				b.record(t, 0, 1)
				b.admit(t, 1, 1, "w1")
				pauseFor(t.Context(), time.Second)
				if stopped {
					if _, err := b.desk.Stop(t.Context(), operator, b.run.ID); err != nil {
						t.Fatal(err)
					}
					pauseFor(t.Context(), time.Second)
				}
				at := time.Now()
				died()
				pauseFor(t.Context(), time.Hour)

				c, err := loadrun.NewController(loadrun.Config{ID: "c2"}, b.ports())
				if err != nil {
					t.Fatal(err)
				}
				if err := b.desk.Park(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := c.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				s := b.stands(t)
				want := load.Failed
				if stopped {
					want = load.Stopped
				}
				if s.Run.State != load.Ended || s.Run.Ending != want || s.Run.Ended.After(at) || s.Run.Ended.Before(at.Add(-5*time.Second)) {
					t.Errorf("%s, %s at %s; it died at %s", s.Run.State, s.Run.Ending, s.Run.Ended, at)
				}
				if p := s.Progress; p.Success != 1 || p.Cancelled != 1 || p.NotDispatched != b.run.Total-2 || p.InFlight != 0 {
					t.Errorf("%+v", p)
				}
				if err := b.desk.RemoveRun(t.Context(), operator, b.run.ID); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
