package worker_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// incompressible makes n bytes that take more than one message.
func incompressible(n int) []byte {
	raw := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(raw) // never fails
	return raw
}

func TestAStoppedWorkerFinishesWhatItHasInHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, calm)
	sent, answer := make(chan struct{}, 10), make(chan struct{})
	w := r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		sent <- struct{}{}
		<-answer
		return testkit.Rows("a", 0, 1, ""), nil
	}), func(s *setup) { s.Concurrency = 2 })
	r.publish(items(2)...)
	for range 2 {
		testkit.Receive(t, "request", sent)
	}
	w.Cancel()
	r.publish(testkit.Item("q", 2))
	select {
	case <-w.Ended():
		t.Fatal("it ended with items in hand")
	default:
	}
	close(answer)
	testkit.Receive(t, "end", ended(w))
	for i := range 2 {
		if !r.hasResult(i) {
			t.Errorf("position %d was in hand and has no result", i)
		}
	}
	if r.hasResult(2) {
		t.Error("an item was taken after the stop")
	}
	if n := r.queued(); n != 1 {
		t.Errorf("%d items are queued, want the one that came after the stop", n)
	}
	if r.heldSlots(4) != 0 {
		t.Error("slots are held by a worker that has ended")
	}
}

// ended gives a value when it has ended.
func ended(w *testkit.Running) <-chan bool {
	c := make(chan bool, 1)
	go func() {
		<-w.Ended()
		c <- true
	}()
	return c
}

func TestAfterItsGraceAStoppedWorkerHandsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, calm) // nothing comes again by itself: the queue's patience is 45 s
	sent := make(chan struct{}, 10)
	w := r.work("w1", testkit.NewScript(func(ctx context.Context, _ testkit.Call) (service.Page, error) {
		sent <- struct{}{}
		<-ctx.Done()
		return service.Page{}, ctx.Err()
	}), func(s *setup) { s.Grace = 100 * time.Millisecond })
	r.publish(items(2)...)
	for range 2 {
		testkit.Receive(t, "request", sent)
	}
	w.Cancel()
	testkit.Receive(t, "end", ended(w))
	if r.heldSlots(4) != 0 {
		t.Error("slots are held by a worker that has ended")
	}
	r.work("w2", testkit.NewScript(rowsOf), nil)
	for i := range 2 {
		if h, _ := r.result(i); h.Worker != "w2" {
			t.Errorf("position %d is %s's", i, h.Worker)
		}
	}
	if n := len(r.told()); n != 0 {
		t.Errorf("%d interruptions for items that were handed back", n)
	}
}

func TestAStopDuringBackoffHandsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	sent := make(chan struct{}, 10)
	w := r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		sent <- struct{}{}
		return service.Page{}, &service.ResponseError{Class: service.ClassTransient, Status: 503, RetryAfter: time.Minute}
	}), func(s *setup) {
		s.Grace = 100 * time.Millisecond
		s.Retry = testkit.QuickRetry(3)
		s.Retry.RetryAfterCap = time.Hour
	})
	r.publish(items(1)...)
	testkit.Receive(t, "request", sent)
	w.Cancel()
	testkit.Receive(t, "end", ended(w))
	r.work("w2", testkit.NewScript(rowsOf), nil)
	r.result(0)
}

func TestWhatCameUnderALostLeaseIsThrownAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, 2*time.Second)
	stolen := make(chan struct{})
	script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if c.Try > 1 {
			return testkit.Rows("good", 0, 1, ""), nil
		}
		r.steal(ctx)
		<-ctx.Done()
		close(stolen)
		return testkit.Rows("lost", 0, 1, ""), nil
	})
	r.work("w1", script, nil)
	r.publish(items(1)...)
	testkit.Receive(t, "end of the request", onClose(stolen))
	h, rows := r.result(0)
	if !strings.Contains(rows, "good") || h.Requests != 1 {
		t.Errorf("the result is %q after %d requests of its attempt; want the second delivery's", rows, h.Requests)
	}
	if n := len(script.Calls()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// steal makes the slots of the service somebody else's, whichever a worker holds.
func (r *rig) steal(ctx context.Context) {
	for _, key := range []string{"rivers.0", "rivers.1"} {
		for {
			e, err := r.bus.Leases().Get(ctx, key)
			if err != nil || len(e.Value) == 0 {
				break
			}
			if _, err = r.bus.Leases().Put(ctx, key, []byte("somebody else"), e.Revision, time.Second); err == nil {
				break
			}
		}
	}
}

func onClose(c <-chan struct{}) <-chan bool {
	told := make(chan bool, 1)
	go func() {
		<-c
		told <- true
	}()
	return told
}

func TestAPositionThatHasAResultIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	for i := range 2 {
		w := r.bus.NewResult("q", []string{"a", "b"}[i])
		if err := w.Commit(t.Context(), testkit.Header("q", i, 0)); err != nil {
			t.Fatal(err)
		}
	}
	asked := testkit.Item("q", 0)
	asked.Recheck = true
	r.publish(asked, testkit.Item("q", 1))
	// Position 1 has been in the hands of a worker that died behind its commit.
	queue, err := r.bus.Queue(t.Context(), "rivers")
	if err != nil {
		t.Fatal(err)
	}
	_, err = queue.Take(t.Context(), 2, 10*time.Second, func(d *bus.Delivery) {
		if err := d.HandBack(); err != nil {
			t.Error(err)
		}
	}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, nil)
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 0 {
		t.Errorf("%d requests for positions that have results", n)
	}
}

func TestASecondResultIsDroppedAndTheItemIsDone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		w := r.bus.NewResult("q", "first")
		if err := w.Commit(t.Context(), testkit.Header("q", 0, 0)); err != nil {
			t.Error(err)
		}
		return testkit.Rows("second", 0, 1, ""), nil
	}), nil)
	r.publish(items(1)...)
	r.queueIsEmpty()
	if h, _ := r.result(0); h.Attempt != "first" {
		t.Errorf("the result is %s's", h.Attempt)
	}
}

// hear starts a worker, and waits until it knows that the query is in a state.
func (r *rig) hear(script service.Adapter, state messages.QueryState, edit func(*setup)) {
	r.t.Helper()
	heard := make(chan messages.QueryState, 10)
	r.work("w1", script, func(s *setup) {
		if edit != nil {
			edit(s)
		}
		s.ports = func(p *worker.Ports) { p.Records = testkit.Hearing{Records: p.Records, Heard: heard} }
	})
	r.setState(state)
	for testkit.Receive(r.t, "word of the query", heard) != state {
	}
}

func TestTheItemsOfACancelledQueryAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	script := testkit.NewScript(rowsOf)
	r.hear(script, messages.Cancelled, nil)
	r.publish(items(3)...)
	r.queueIsEmpty()
	if calls, told := len(script.Calls()), len(r.told()); calls != 0 || told != 0 {
		t.Errorf("%d requests and %d interruptions for a cancelled query", calls, told)
	}
}

func TestTheItemsOfAnEarlierRunAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	q, revision, err := r.bus.LoadQuery(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	q.Run = 2
	if _, err := r.bus.SaveQuery(t.Context(), q, revision); err != nil {
		t.Fatal(err)
	}
	script := testkit.NewScript(rowsOf)
	r.hear(script, messages.Running, nil)
	now := testkit.Item("q", 1)
	now.Run = 2
	r.publish(testkit.Item("q", 0), now)
	r.result(1)
	r.queueIsEmpty()
	if r.hasResult(0) {
		t.Error("an item of an earlier run was run")
	}
}

func TestTheItemsOfAStoppingQueryAreHandedBackToTheCoordinator(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	script := testkit.NewScript(rowsOf)
	r.hear(script, messages.Stopping, nil)
	r.publish(items(2)...)
	for _, m := range r.interrupted(2) {
		if m.Kind != messages.HandedBack || m.Requests != 0 {
			t.Errorf("interruption %+v", m)
		}
	}
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 0 {
		t.Errorf("%d requests for a stopping query", n)
	}
}

func TestAWalkThatHasBegunIsFinishedWhenTheQueryStops(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	heard := make(chan messages.QueryState, 10)
	second := make(chan struct{})
	r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Cursor != "" {
			return testkit.Rows("a", 1, 1, ""), nil
		}
		close(second)
		for testkit.Receive(t, "word of the query", heard) != messages.Stopping {
		}
		return testkit.Rows("a", 0, 1, "p2"), nil
	}), func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Records = testkit.Hearing{Records: p.Records, Heard: heard} }
	})
	r.publish(items(1)...)
	testkit.Receive(t, "first request", onClose(second))
	r.setState(messages.Stopping)
	if h, _ := r.result(0); h.Pages != 2 {
		t.Errorf("result %+v, want both pages", h)
	}
}

func TestARefusalForQuotaIsToldWhenTheQueryIsStoppingAlready(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	heard := make(chan messages.QueryState, 10)
	sent := make(chan struct{})
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		close(sent)
		for testkit.Receive(t, "word of the query", heard) != messages.Stopping {
		}
		return service.Page{}, &service.ResponseError{Class: service.ClassQuota, Status: 429, RetryAfter: time.Hour, Message: "1000 an hour"}
	}), func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Records = testkit.Hearing{Records: p.Records, Heard: heard} }
	})
	r.publish(items(1)...)
	testkit.Receive(t, "request", onClose(sent))
	r.setState(messages.Stopping)
	if m := r.interrupted(1)[0]; m.Kind != messages.QuotaExhausted || m.Until.IsZero() {
		t.Errorf("interruption %+v, want one for quota", m)
	}
}

func TestACancelEndsABackoff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	sent := make(chan struct{}, 1)
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		sent <- struct{}{}
		return service.Page{}, &service.ResponseError{Class: service.ClassTransient, Status: 503, RetryAfter: time.Hour}
	}), func(s *setup) { s.Retry = testkit.QuickRetry(3); s.Retry.RetryAfterCap = time.Hour })
	r.publish(items(1)...)
	testkit.Receive(t, "request", sent)
	r.setState(messages.Cancelled)
	r.queueIsEmpty()
	if r.hasResult(0) || len(r.told()) != 0 {
		t.Error("a cancelled item left something")
	}
}

func TestAWorkerHasNoMoreItemsInHandThanItsConcurrency(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10, calm)
	script := pacing()
	r.work("w1", script, func(s *setup) { s.Concurrency = 2 })
	r.publish(items(10)...)
	r.queueIsEmpty()
	if most := script.Most(); most != 2 {
		t.Errorf("%d requests at once, want 2", most)
	}
}

func TestAllWorkersTogetherNeverHaveMoreInFlightThanSlots(t *testing.T) {
	t.Parallel()
	const slots, chunks = 3, 40
	r := newRig(t, slots, calm)
	script := pacing()
	for _, id := range []string{"w1", "w2", "w3"} {
		r.work(id, script, func(s *setup) { s.Concurrency = 8 })
	}
	r.publish(items(chunks)...)
	r.queueIsEmpty()
	if most := script.Most(); most != slots {
		t.Errorf("%d requests at once, want %d", most, slots)
	}
	if n := len(script.Calls()); n != chunks {
		t.Errorf("%d requests for %d chunks", n, chunks)
	}
}

// pacing answers after a moment, so that requests overlap.
func pacing() *testkit.Script {
	return testkit.NewScript(func(ctx context.Context, _ testkit.Call) (service.Page, error) {
		timer := time.NewTimer(20 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return testkit.Rows("a", 0, 1, ""), nil
		case <-ctx.Done():
			return service.Page{}, ctx.Err()
		}
	})
}

func TestAChangedNumberOfSlotsHoldsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	var mu sync.Mutex
	waiting := 0
	release := make(chan struct{})
	r.work("w1", testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) {
		mu.Lock()
		waiting++
		mu.Unlock()
		<-release
		return testkit.Rows("a", 0, 1, ""), nil
	}), nil)
	r.publish(items(3)...)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return waiting
	}
	testkit.Until(t, "one request is in flight", func() bool { return count() == 1 })
	err := r.bus.UpdateService(t.Context(), "rivers", func(have *messages.Service) *messages.Service {
		more := *have
		more.Slots = 3
		return &more
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "three requests are in flight", func() bool { return count() == 3 })
	close(release)
	r.queueIsEmpty()
}

func TestAWorkerTellsThatItIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	r.work("w1", testkit.NewScript(rowsOf), func(s *setup) { s.Host, s.Version, s.Concurrency = "here", "v1", 7 })
	testkit.Until(t, "the worker is listed", func() bool {
		all, err := r.bus.ListWorkers(t.Context())
		return err == nil && len(all) == 1 && all[0].ID == "w1" && all[0].Concurrency == 7 && all[0].Host == "here"
	})
}

func TestEachRequestIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	w := r.work("w1", testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Try == 1 {
			return service.Page{}, refuse(service.ClassTransient, 503, "away")
		}
		return testkit.Rows("a", 0, 1, ""), nil
	}), nil)
	r.publish(items(1)...)
	r.result(0)
	w.Cancel()
	testkit.Receive(t, "end", ended(w))
	stream, err := r.js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetLastMsgForSubject(t.Context(), "braid.event.q.execution")
	if err != nil {
		t.Fatal(err)
	}
	m, err := messages.DecodeExecutions(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Executions) != 2 || m.Executions[0].Class != "transient" || m.Executions[0].Status != 503 ||
		m.Executions[1].Class != "ok" || m.Executions[1].Try != 2 || m.Executions[1].Upstream <= 0 {
		t.Errorf("recorded %+v", m.Executions)
	}
}
