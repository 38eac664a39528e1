package resume_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// However items end, no more is sent than the budget, and the run ends: with all, or because the budget is spent.
func TestNoMoreIsSentThanTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.Int64Range(0, 40).Draw(t, "budget")
		total := rapid.IntRange(1, 12).Draw(t, "chunks")
		need := map[messages.Position]int{} // requests that a chunk still takes
		window := rapid.IntRange(1, 8).Draw(t, "window")
		limits := limits(window)
		limits.Budgeted, limits.MaxRequests = true, budget
		r := resume.NewRun("q1", 1, total, limits)
		for i := range total {
			need[messages.PositionAt(i)] = rapid.IntRange(1, 6).Draw(t, "requests")
		}
		var sent int64
		allowed := map[messages.Position]int{}
		next := 0
		for range 1000 {
			r.SetWindow(min(window, r.Demand(next >= total))) // who wants nothing gets no room
			switch a := r.Next(at(0), next >= total, false); a.Kind {
			case resume.Settle:
				if a.State == messages.Interrupted && (a.Stop.Kind != messages.StopBudget || sent != budget) {
					t.Fatalf("it ends with %+v after %d of %d requests", a.Stop, sent, budget)
				}
				return
			case resume.Rewind:
				next = 0
			case resume.Dispatch:
				for n := 0; n < a.Count && next < total; next++ {
					if p := messages.PositionAt(next); !r.Decided(p) && !r.Outstanding(p) {
						r.Dispatched(p)
						r.Allow(p, a.Allowance)
						allowed[p] = a.Allowance
						n++
					}
				}
			case resume.Wait:
				if len(allowed) == 0 {
					t.Fatal("it waits for nobody")
				}
				p := rapid.SampledFrom(keys(allowed)).Draw(t, "who ends")
				n := min(allowed[p], need[p])
				delete(allowed, p)
				need[p] -= n
				if sent += int64(n); sent > budget {
					t.Fatalf("%d of %d requests are sent", sent, budget)
				}
				if need[p] > 0 {
					m := interrupted(1, p, messages.AllowanceSpent, at(0))
					m.Sent = n
					r.Interruption(m, at(0))
				} else {
					h := rows(1, p)
					h.Sent = n
					r.Result(h)
				}
			case resume.Discard, resume.Stop:
				t.Fatalf("unexpected %+v", a)
			}
		}
		t.Fatal("it never ends")
	})
}

func keys(m map[messages.Position]int) []messages.Position {
	var all []messages.Position
	for i := range 20 {
		if p := messages.PositionAt(i); m[p] > 0 {
			all = append(all, p)
		}
	}
	return all
}

func budgeted(total, window int, requests int64) *resume.Run {
	l := limits(window)
	l.Budgeted, l.MaxRequests = true, requests
	return resume.NewRun("q1", 1, total, l)
}

func spent(p messages.Position, sent int, dispatched int) *messages.Interruption {
	m := interrupted(1, p, messages.AllowanceSpent, at(9))
	m.Sent, m.Dispatched = sent, at(dispatched)
	return m
}

// What is left is not divided among positions that there are not.
func TestTheLastPositionsShareAllThatIsLeft(t *testing.T) {
	t.Parallel()
	r := budgeted(1, 16, 1000)
	sent := 0
	for i := 0; sent < 1000; i++ {
		a := r.Next(at(0), false, false)
		if a.Kind != resume.Dispatch || a.Count != 1 || a.Allowance != min(256, 1000-sent) {
			t.Fatalf("after %d requests: %+v", sent, a)
		}
		r.DispatchedAt("0", at(i))
		r.Allow("0", a.Allowance)
		m := spent("0", a.Allowance, i)
		m.At = at(i)
		r.Interruption(m, at(0))
		sent += a.Allowance
		if a := r.Next(at(0), true, false); (a.Kind == resume.Settle) != (sent == 1000) || sent < 1000 && a.Kind != resume.Rewind {
			t.Fatalf("after %d requests: %+v", sent, a)
		}
	}
	r = budgeted(20, 16, 100)
	for i := range 19 {
		r.Dispatched(messages.PositionAt(i))
		h := rows(1, messages.PositionAt(i))
		h.Sent = 1
		r.Result(h)
	}
	if a := r.Next(at(0), false, false); a.Count != 1 || a.Allowance != 81 {
		t.Errorf("the last of twenty gets %+v", a)
	}
}

// A worker that does not hear that an interruption is stored stores it again, perhaps when the position is out anew.
func TestAnInterruptionThatIsStoredTwiceIsBookedOnce(t *testing.T) {
	t.Parallel()
	r := budgeted(2, 16, 100)
	r.DispatchedAt("0", at(0))
	r.Allow("0", 10)
	r.Interruption(spent("0", 10, 0), at(1))
	r.DispatchedAt("0", at(2))
	r.Allow("0", 80)
	r.Interruption(spent("0", 10, 0), at(3))
	if r.Spent() != 10 || !r.Outstanding("0") {
		t.Errorf("%d requests are booked; the position is out: %v", r.Spent(), r.Outstanding("0"))
	}
	if a := r.Next(at(4), false, false); a.Allowance > 10 {
		t.Errorf("with 10 left another item gets %d", a.Allowance)
	}
}

// So does one that was slow: what it sent counts, and the item that followed is still out.
func TestAnInterruptionOfAnEarlierItemLeavesTheLaterOneOut(t *testing.T) {
	t.Parallel()
	r := budgeted(2, 16, 100)
	r.DispatchedAt("0", at(5))
	r.Allow("0", 80)
	r.Interruption(spent("0", 7, 1), at(6))
	if r.Spent() != 7 || !r.Outstanding("0") {
		t.Errorf("%d requests are booked; the position is out: %v", r.Spent(), r.Outstanding("0"))
	}
	r.Interruption(spent("0", 80, 5), at(7))
	if r.Spent() != 87 || r.Outstanding("0") {
		t.Errorf("%d requests are booked; the position is out: %v", r.Spent(), r.Outstanding("0"))
	}
}

// However many there are, the memory of them is bounded, and the last ones are known.
func TestTheMemoryOfInterruptionsIsBounded(t *testing.T) {
	t.Parallel()
	r := budgeted(2, 16, 1_000_000)
	for i := range 10_000 {
		m := spent("0", 1, i)
		r.Interruption(m, at(0))
		r.Interruption(m, at(0))
	}
	if r.Spent() != 10_000 {
		t.Errorf("%d are booked", r.Spent())
	}
}
