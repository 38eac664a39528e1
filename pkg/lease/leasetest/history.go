package leasetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/braidhq/braid/pkg/lease"
)

// History records who took and gave up which slot when, to be checked against a set of slots that each have at most one
// holder. It is safe for concurrent use.
type History struct {
	mu  sync.Mutex // guards all below
	now int64      // events so far, which is the time of the history
	ops []porcupine.Operation
}

// taken and ended are what is done to a slot.
type (
	taken struct{ slot int }
	ended struct{ slot int }
)

// tick is a moment after all that were before.
func (h *History) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	return h.now
}

func (h *History) add(client int, input any, call int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now++
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: input, Call: call, Return: h.now})
}

// Work takes slots and gives them back until ctx ends. hold says how long each is held. A slot that is lost has ended at some
// moment between the last look that found it valid and the first that did not.
func (h *History) Work(ctx context.Context, client int, s *lease.Semaphore, hold func() time.Duration) {
	for ctx.Err() == nil {
		call := h.tick()
		slot, err := s.Acquire(ctx)
		if err != nil {
			return
		}
		valid := h.tick()
		h.add(client, taken{slot.Index()}, call)
		end := time.Now().Add(hold())
		for slot.Valid() && time.Now().Before(end) {
			valid = h.tick()
			if !slot.Valid() {
				break
			}
			<-time.After(5 * time.Millisecond)
		}
		if slot.Valid() {
			valid = h.tick()
		}
		giveBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_ = slot.Release(giveBack) // what is not given back expires
		cancel()
		h.add(client, ended{slot.Index()}, valid)
	}
}

// Check fails the test when no order of what was done, as it may have happened, gives each slot below slots one holder at most. It
// gives how often a slot was taken.
func (h *History) Check(t testing.TB, slots int) int {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch porcupine.CheckOperationsTimeout(slotModel(slots), h.ops, time.Minute) {
	case porcupine.Illegal:
		t.Errorf("no order of the %d operations gives each slot one holder at most", len(h.ops))
	case porcupine.Unknown:
		t.Errorf("whether the %d operations have an order was not found out in a minute", len(h.ops))
	default:
	}
	return len(h.ops) / 2
}

// slotModel is a set of slots, each checked by itself.
func slotModel(slots int) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			bySlot := make([][]porcupine.Operation, slots+1) // the last: slots that there are not
			for _, op := range history {
				at := min(slotOf(op.Input), slots)
				bySlot[at] = append(bySlot[at], op)
			}
			return bySlot
		},
		Init: func() any { return false },
		Step: func(state, input, _ any) (bool, any) {
			held := state == true
			if take, ok := input.(taken); ok {
				return !held && take.slot < slots, true
			}
			return held, false
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%T %d", input, slotOf(input)) },
	}
}

func slotOf(input any) int {
	switch op := input.(type) {
	case taken:
		return op.slot
	case ended:
		return op.slot
	}
	return 0
}
