package coordinator

import (
	"slices"
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

func told(st *stake) bool {
	select {
	case <-st.grown:
		return true
	default:
		return false
	}
}

func TestAQueryThatJoinsAndLeavesChangesTheOthersWindows(t *testing.T) {
	s := newShares()
	a := s.join("rivers", "a", messages.Rank{}, 8)
	if got := a.claimed(1_000_000); got != 24 || !told(a) || !a.mustLook() || a.mustLook() {
		t.Errorf("alone: %d, want 24, told to look for the slots, once", got)
	}
	b := s.join("rivers", "b", messages.Rank{Weight: 2}, 8)
	elsewhere := s.join("lakes", "c", messages.Rank{Priority: 9}, 8)
	elsewhere.claimed(1_000_000)
	if got := a.claimed(1_000_000); got != 24 {
		t.Errorf("beside one that wants nothing yet: %d, want 24", got)
	}
	if got := []int{b.claimed(1_000_000), a.claimed(999_999)}; !slices.Equal(got, []int{16, 8}) {
		t.Errorf("b and a: %v, want 16 and 8", got)
	}
	if told(a) {
		t.Error("a is told of a window that is smaller")
	}
	b.claimed(3) // it comes to its end
	if got := a.claimed(999_998); got != 21 || !told(a) {
		t.Errorf("beside the last three of b: %d, want 21, told", got)
	}
	b.claimed(1_000_000)
	b.ranked(messages.Rank{Priority: 1})
	if got := []int{b.claimed(1_000_000), a.claimed(1_000_000)}; !slices.Equal(got, []int{24, 0}) {
		t.Errorf("b, of a higher priority, and a: %v, want 24 and 0", got)
	}
	told(a)
	b.leave()
	if got := a.claimed(1_000_000); got != 24 || !told(a) || !a.mustLook() || a.mustLook() {
		t.Errorf("alone again: %d, want 24, told to look for the slots, once", got)
	}
	a.leave()
	s.look("rivers")
	elsewhere.leave()
	if len(s.services) != 0 {
		t.Errorf("%d services are remembered", len(s.services))
	}
}

func TestTheWindowsFollowTheSlots(t *testing.T) {
	s := newShares()
	a := s.join("rivers", "a", messages.Rank{}, 8)
	a.claimed(1_000_000)
	told(a)
	a.resolved(100)
	if !told(a) || a.claimed(1_000_000) != 300 {
		t.Errorf("%d of 100 slots, want 300, told", a.claimed(1_000_000))
	}
	// Who joins may have looked before somebody else did.
	b := s.join("rivers", "b", messages.Rank{}, 8)
	if !told(b) || !b.mustLook() {
		t.Error("b is not told to look how many slots there are")
	}
	b.resolved(8)
	b.claimed(1_000_000)
	if got := a.claimed(1_000_000); got != 12 {
		t.Errorf("%d of 8 slots for two, want 12", got)
	}
}
