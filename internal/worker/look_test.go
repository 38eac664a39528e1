package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestWhatGotItsResultDuringTheWaitForASlotIsNotAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	sent, answer := make(chan struct{}, 10), make(chan struct{})
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if strings.Contains(c.Task, `"position":0`) {
			sent <- struct{}{}
			<-answer
		}
		return testkit.Rows("a", 0, 1, ""), nil
	})
	looked := make(chan struct{}, 10)
	r.work("w1", script, func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Results = looking{p.Results, looked} }
	})
	r.publish(testkit.Item("q", 0))
	testkit.Receive(t, "request", sent) // with the only slot
	second := testkit.Item("q", 1)
	second.Recheck = true
	r.publish(second)
	testkit.Receive(t, "look for a result", looked) // and now it waits for the slot
	other := r.bus.NewResult("q", "other")
	if err := other.Write(t.Context(), []byte("{\"n\":1}\n")); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(t.Context(), testkit.Header("q", 1, 1)); err != nil {
		t.Fatal(err)
	}
	<-pastLook()
	close(answer)
	r.queueIsEmpty()
	if n := script.CallsWith(`"position":1`); n != 0 {
		t.Errorf("%d requests for a position that had its result", n)
	}
	if h, _ := r.result(1); h.Attempt != "other" || h.Outcome != messages.OutcomeRows {
		t.Errorf("the result is %+v", h)
	}
}

func TestAWorkerWhosePageWasThereAlreadyLooksBeforeItAsksForTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	sent, answer := make(chan struct{}, 10), make(chan struct{})
	pages := func(c testkit.Call) (service.Page, error) {
		return testkit.Rows("a", c.Pages, 1, map[int]string{0: "second", 1: "third"}[c.Pages]), nil
	}
	slow := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Pages == 1 {
			sent <- struct{}{}
			<-answer
		}
		return pages(c)
	})
	first := r.work("w1", slow, func(s *setup) { s.Concurrency = 1 })
	r.publish(testkit.Item("q", 0))
	testkit.Receive(t, "request", sent)
	// Another worker comes by the item and is quicker.
	quick := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) { return pages(c) })
	if err := r.bus.PurgeItems(t.Context(), "rivers", "q"); err != nil {
		t.Fatal(err)
	}
	r.work("w2", quick, nil)
	again := testkit.Item("q", 0)
	again.Recheck = true
	testkit.Until(t, "the second worker has run the item", func() bool {
		r.publish(again)
		return r.hasResult(0)
	})
	<-pastLook()
	close(answer)
	first.Cancel()
	testkit.Receive(t, "end", ended(first))
	if n := len(slow.Calls()); n != 2 {
		t.Errorf("the first worker sent %d requests, want the two that it had sent before", n)
	}
}

// pastLook is when a look that has just been taken is too old.
func pastLook() <-chan time.Time { return time.After(50 * time.Millisecond) }

// looking tells when a result is looked for.
type looking struct {
	worker.Results
	looked chan<- struct{} // with room for all of them
}

// HasResult is worker.Results'.
func (l looking) HasResult(ctx context.Context, query string, p messages.Position) (bool, error) {
	have, err := l.Results.HasResult(ctx, query, p)
	l.looked <- struct{}{}
	return have, err
}
