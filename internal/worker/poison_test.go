package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// tossed takes all items so often and hands them back each time.
func (r *rig) tossed(times, n int) {
	r.t.Helper()
	q, err := r.bus.Queue(r.t.Context(), "rivers")
	if err != nil {
		r.t.Fatal(err)
	}
	for range times {
		var taken []*bus.Delivery
		testkit.Until(r.t, "all items are taken", func() bool {
			_, err := q.Take(r.t.Context(), n-len(taken), time.Second, func(d *bus.Delivery) { taken = append(taken, d) }, func(error) {})
			if err != nil {
				r.t.Fatal(err)
			}
			return len(taken) == n
		})
		for _, d := range taken {
			if err := d.HandBack(); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// inHand counts the items that are with workers.
func (r *rig) inHand() int {
	r.t.Helper()
	consumer, err := r.js.Consumer(r.t.Context(), "ITEMS", "rivers")
	if err != nil {
		r.t.Error(err)
		return 0
	}
	return consumer.CachedInfo().NumAckPending
}

// begun writes down runs of a position that were begun and not ended.
func (r *rig) begun(position, run, n int) {
	r.t.Helper()
	err := r.bus.UpdateSuspect(r.t.Context(), "q", messages.PositionAt(position), func(*messages.Suspect) *messages.Suspect {
		s := &messages.Suspect{V: 1, Query: "q", Run: run, Position: messages.PositionAt(position)}
		for i := range n {
			s.Begun = append(s.Begun, messages.Begun{Attempt: "a", Worker: "dead-" + string(rune('1'+i)), Delivery: 3 + i, At: time.Unix(int64(1000+i), 0)})
		}
		return s
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// accused gives the runs of a position that were begun and not ended.
func (r *rig) accused(position int) []messages.Begun {
	r.t.Helper()
	var begun []messages.Begun
	err := r.bus.UpdateSuspect(r.t.Context(), "q", messages.PositionAt(position), func(have *messages.Suspect) *messages.Suspect {
		if have != nil {
			begun = have.Begun
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return begun
}

func TestAChunkThatEndsItsWorkersIsGivenUpWithItsEvidence(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	poison := testkit.Item("q", 0)
	poison.Asks = "site: a"
	r.publish(poison, testkit.Item("q", 1))
	r.tossed(2, 2)
	r.begun(0, 1, 3)
	r.begun(1, 1, 2) // one more is not enough
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, nil)
	h, _ := r.result(0)
	if h.Outcome != messages.OutcomeFailed || h.Failure.Class != messages.ClassPoison || h.Requests != 0 {
		t.Fatalf("it ends as %+v", h)
	}
	for _, word := range []string{"of 3 deliveries", "the last 3", "dead-1 at 1970-01-01T00:16:40Z (delivery 3)", "dead-3", "(delivery 5)"} {
		contains(t, h.Failure.Message, word)
	}
	contains(t, h.Failure.Hint, "asks for site: a")
	if h, _ := r.result(1); h.Outcome != messages.OutcomeRows {
		t.Errorf("the other one ends as %+v", h)
	}
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 1 {
		t.Errorf("%d requests, want one for the chunk that is not given up", n)
	}
}

func TestWhatIsHandedBackOftenIsRunLikeAnyOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, calm)
	r.publish(items(4)...)
	r.tossed(8, 4)
	r.begun(0, 7, 3) // of another run
	var came atomic.Int32
	second := make(chan struct{})
	script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		switch came.Add(1) {
		case 1: // it leaves the others time to come, which they must not
			testkit.Until(t, "all items are in the worker's hands", func() bool { return r.inHand() == 4 })
			select {
			case <-second:
			case <-time.After(200 * time.Millisecond):
			}
		case 2:
			close(second)
		}
		for i := range 4 {
			if strings.Contains(c.Task, `:`+string(rune('0'+i))) && len(r.accused(i)) != 1 {
				t.Errorf("position %d is run, and %+v were begun", i, r.accused(i))
			}
		}
		return rowsOf(ctx, c)
	})
	r.work("w1", script, nil)
	for i := range 4 {
		if h, _ := r.result(i); h.Outcome != messages.OutcomeRows {
			t.Errorf("position %d ends as %+v", i, h)
		}
	}
	r.queueIsEmpty()
	if n := script.Most(); n != 1 {
		t.Errorf("%d suspects were run at once: when the worker dies, all of them are accused", n)
	}
	for i := range 4 {
		if left := r.accused(i); len(left) != 0 {
			t.Errorf("position %d is done, and %+v is still open", i, left)
		}
	}
}

func TestASuspectThatIsHandedBackIsNotAccused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.publish(items(2)...)
	r.tossed(2, 2)
	sent := make(chan struct{}, 10)
	w := r.work("w1", testkit.NewScript(func(ctx context.Context, _ testkit.Call) (service.Page, error) {
		sent <- struct{}{}
		<-ctx.Done()
		return service.Page{}, ctx.Err()
	}), func(s *setup) { s.Grace = 50 * time.Millisecond })
	testkit.Receive(t, "request", sent)
	if n := len(r.accused(0)) + len(r.accused(1)); n != 1 {
		t.Errorf("%d runs are written down, want the one that was begun", n)
	}
	if err := w.Stop(t); err != nil {
		t.Fatal(err)
	}
	if n := len(r.accused(0)) + len(r.accused(1)); n != 0 {
		t.Errorf("%d runs are open, and both items were handed back", n)
	}
	r.work("w2", testkit.NewScript(rowsOf), nil)
	for i := range 2 {
		if h, _ := r.result(i); h.Outcome != messages.OutcomeRows {
			t.Errorf("position %d ends as %+v", i, h)
		}
	}
}

// Dead workers are told from live ones by nothing but their silence.
func TestRunsThatNeverEndAddUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, 8, time.Second)
	r.publish(testkit.Item("q", 0))
	if err := r.bus.EnsureQueue(t.Context(), "rivers", 100, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	defer close(hang)
	begun := make(chan string, 10)
	for _, id := range []string{"w1", "w2", "w3", "w4", "w5"} {
		w := testkit.Worker(t, r.bus, worker.Config{ID: id}, &testkit.Upstreams{Adapter: testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
			begun <- id
			<-hang
			return service.Page{}, nil
		})}, func(p *worker.Ports) { p.Queues = silent{p.Queues} })
		running := testkit.Run(t, w.Run)
		testkit.Receive(t, "request of "+id, begun)
		running.Cancel() // it takes nothing more, and never speaks of what it has
	}
	if n := len(r.accused(0)); n != 3 {
		t.Errorf("%d runs are open, want those of the third delivery on", n)
	}
	script := testkit.NewScript(rowsOf)
	r.work("w6", script, nil)
	h, _ := r.result(0)
	if h.Outcome != messages.OutcomeFailed || h.Failure.Class != messages.ClassPoison || len(script.Calls()) != 0 {
		t.Errorf("it ends as %+v", h)
	}
	contains(t, h.Failure.Message, "w3 at ")
	contains(t, h.Failure.Message, "w5 at ")
}

// silent is queues whose items nobody speaks of any more, as if the worker were dead.
type silent struct{ worker.Queues }

func (s silent) Queue(ctx context.Context, service string) (worker.Queue, error) {
	q, err := s.Queues.Queue(ctx, service)
	return silentQueue{q}, err
}

type silentQueue struct{ worker.Queue }

func (q silentQueue) Take(ctx context.Context, n int, wait time.Duration, on func(worker.Delivery)) (int, error) {
	return q.Queue.Take(ctx, n, wait, func(d worker.Delivery) { on(silentDelivery{d}) })
}

type silentDelivery struct{ worker.Delivery }

func (silentDelivery) InProgress() error          { return nil }
func (silentDelivery) HandBack() error            { return nil }
func (silentDelivery) Done(context.Context) error { return nil }
