package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

func TestNoEndIsToldWhileAStatusWaits(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Failed, 1)
		r := h.Query("q1", Mark{})
		end := wantTaken(t, r, "q1 failed 0, end q1", true)[1]
		r.Close()
		s.record("q1", messages.Running, 2) // sooner than it may be told
		r = h.Query("q1", Mark{})
		defer r.Close()
		wantTaken(t, r, "q1 failed 0", false)
		// Nor is somebody sent away who has seen the end of before.
		again := h.Query("q1", ParseMark(end.ID()))
		defer again.Close()
		if known, over := again.Place(); !known || over {
			t.Errorf("known=%v over=%v", known, over)
		}
		wantTaken(t, again, "", false)
		time.Sleep(Gap)
		for _, reader := range []*Subscription{r, again} {
			wantTaken(t, reader, "q1 running 0", false)
		}
	})
}

func TestWhatWaitedWhenAReaderLeftIsToldWhenItComesBack(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("q1", messages.Running, 1)
		s.record("q2", messages.Running, 1)
		all := h.All(Mark{})
		before := wantTaken(t, all, "q1 running 0, q2 running 0", false)[1]
		s.progress("q1", 1) // waits
		s.record("q3", messages.Running, 1)
		last := wantTaken(t, all, "q3 running 0", false)[0]
		if last.Through() != before.Through() {
			t.Errorf("the reader has seen all up to %s, as it is told, and not %s", last.Through(), before.Through())
		}
		all.Close()
		time.Sleep(Gap)
		again := h.All(ParseMark(last.Through()))
		defer again.Close()
		wantTaken(t, again, "q3 running 0, q1 running 1", false)
	})
}

func TestAMarkThatIsOlderThanWhatIsRememberedMissesNoQuery(t *testing.T) {
	run(t, func(t *testing.T, h *Hub, s *store) {
		s.record("old", messages.Running, 1)
		s.record("changed", messages.Running, 1)
		all := h.All(Mark{})
		mark := wantTaken(t, all, "old running 0, changed running 0", false)[1].Through()
		all.Close()
		time.Sleep(Gap)
		s.progress("changed", 5)
		synctest.Wait()
		for i := range maxEvents + 10 {
			s.record(fmt.Sprintf("q%d", i), messages.Running, 1)
		}
		synctest.Wait()
		if len(h.events) == 0 || slices.ContainsFunc(h.events, func(e *Event) bool { return e.Query == "changed" }) {
			t.Fatalf("%d events are remembered, want the old ones forgotten", len(h.events))
		}
		again := h.All(ParseMark(mark))
		defer again.Close()
		synctest.Wait()
		events, _ := again.Take()
		told := map[string]string{}
		for _, e := range events {
			told[e.Query] = said([]*Event{e})
		}
		if told["changed"] != "changed running 5" || len(told) != maxEvents+11 || strings.Contains(told["old"], "old") {
			t.Errorf("%d queries are told, %q, %q", len(told), told["changed"], told["old"])
		}
	})
}
