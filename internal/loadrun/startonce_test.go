package loadrun_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

// A start needs nothing but a desk: when it has returned, there is the run. Who starts by a schedule names the time as the key, and starts one run
// however often it starts it, and from wherever.
func TestLR_1_8_AStartIsARunAtOnceAndByItsKeyTheSameOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		v := h.ready(t.Context(), profile("dev", nil))
		before := time.Now()
		byHand := h.start(t.Context(), v)
		if s, err := h.desk.Run(t.Context(), byHand.ID); err != nil || s.Run.State != load.Preparing || !time.Now().Equal(before) {
			t.Errorf("a start by hand: %+v, %v", s, err)
		}
		again := h.start(t.Context(), v)
		if again.ID == byHand.ID {
			t.Error("two starts by hand are one run")
		}
		req := h.request(v)
		req.Key = "nightly 2026-11-30T02:00:00Z"
		scheduled := map[string]bool{}
		for i := range 4 {
			if i == 3 {
				req.Key = "nightly 2026-12-01T02:00:00Z"
			}
			r, err := h.newDesk().Start(t.Context(), runner, req) // another coordinator each
			if repeated := i == 1 || i == 2; errors.Is(err, load.ErrRepeated) != repeated || err != nil && !repeated {
				t.Fatalf("start %d: %v", i, err)
			}
			scheduled[r.ID] = true
		}
		if len(scheduled) != 2 {
			t.Errorf("two times of a schedule are the runs %v", scheduled)
		}
		defer h.controller(t.Context(), "c1", nil)()
		for id := range scheduled {
			c := &crew{h: h, run: id, rng: rand.New(rand.NewPCG(1, 2))}
			done := c.work(t.Context())
			s := h.ended(t.Context(), id)
			done()
			if s.Run.Ending != load.Completed || s.Progress.Success != s.Run.Total || c.sent != s.Run.Total {
				t.Errorf("%+v; %d requests", s.Progress, c.sent)
			}
		}
	})
}

// What was selected is read from there on, and never made again: not where it is gone, and not where it is another one.
func TestLR_8_7_TheSelectionIsMadeAtTheStartAlone(t *testing.T) {
	for name, harm := range map[string]func(m *memory, run string){
		"gone": func(m *memory, run string) { delete(m.selections, run) },
		"another one": func(m *memory, run string) {
			other := *m.selections[run]
			other.Hash = strings.Repeat("0", 64)
			m.selections[run] = &other
		},
		"shorter": func(m *memory, run string) {
			other := *m.selections[run]
			other.Variations = other.Variations[1:]
			m.selections[run] = &other
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				r := h.start(t.Context(), h.ready(t.Context(), profile("dev", nil)))
				made := h.m.selections[r.ID]
				if made == nil || made.Hash != r.Selection || len(made.Variations) != r.Selected {
					t.Fatalf("when the start has returned, %+v is stored", made)
				}
				harm(h.m, r.ID)
				defer h.controller(t.Context(), "c1", nil)()
				s := h.ended(t.Context(), r.ID)
				if s.Run.Ending != load.Failed || s.Run.Reason == "" || len(h.m.published[r.ID]) != 0 || h.m.closed[r.ID] == 0 || !h.m.sealed[r.ID] {
					t.Errorf("%s: %q; %d were queued", s.Run.Ending, s.Run.Reason, len(h.m.published[r.ID]))
				}
			})
		})
	}
}
