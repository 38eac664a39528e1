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
		limits := limits(rapid.IntRange(1, 8).Draw(t, "window"))
		limits.Budgeted, limits.MaxRequests = true, budget
		r := resume.NewRun("q1", 1, total, limits)
		for i := range total {
			need[messages.PositionAt(i)] = rapid.IntRange(1, 6).Draw(t, "requests")
		}
		var sent int64
		allowed := map[messages.Position]int{}
		next := 0
		for range 1000 {
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
