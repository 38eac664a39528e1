package resume_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func anInterruption() *rapid.Generator[*messages.Interruption] {
	return rapid.Custom(func(t *rapid.T) *messages.Interruption {
		m := &messages.Interruption{
			V: 1, Query: "q1", Run: 1, Service: "rivers", Worker: rapid.SampledFrom([]string{"w1", "w2"}).Draw(t, "worker"),
			Position: rapid.SampledFrom([]messages.Position{"0", "1", "1.0", "1.1", "2", "10"}).Draw(t, "position"),
			Kind: rapid.SampledFrom([]messages.InterruptionKind{
				messages.QuotaExhausted, messages.ServiceInterrupted, messages.StoreFull, messages.HandedBack, messages.AllowanceSpent,
			}).Draw(t, "kind"),
			Status: rapid.SampledFrom([]int{0, 429, 503}).Draw(t, "status"), Reason: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "reason"),
			Dispatched: at(rapid.IntRange(0, 1).Draw(t, "dispatched")),
		}
		if rapid.Bool().Draw(t, "names a time") {
			m.Until = at(rapid.IntRange(10, 20).Draw(t, "until"))
		}
		return m
	})
}

func outcome(all []*messages.Interruption) resume.Action {
	r := begun(1, 20, 20)
	for _, m := range all {
		r.Interruption(m, at(0))
	}
	return r.Next(at(0).Add(time.Hour), false, true)
}

// What a run says of its interruptions depends on which there were, and never on which was heard of first, or how often.
func TestWhichInterruptionSpeaksDoesNotDependOnTheOrderOfNews(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(anInterruption(), 1, 6).Draw(t, "interruptions")
		for i, m := range all {
			m.At = at(i) // no worker tells two things of one item at once
		}
		want := outcome(all)
		other := rapid.Permutation(all).Draw(t, "other order")
		other = append(other, rapid.SliceOfN(rapid.SampledFrom(all), 0, 3).Draw(t, "stored twice")...)
		if got := outcome(other); !reflect.DeepEqual(got.Stop, want.Stop) {
			t.Fatalf("in another order it stops because of\n%+v, not\n%+v", got.Stop, want.Stop)
		}
	})
}

// Of two kinds at any positions one speaks, and it is the same in both orders; of three, the first of the first two and the last is the
// first of all.
func TestTheKindsOfInterruptionsStandInOneOrder(t *testing.T) {
	kinds := []messages.InterruptionKind{messages.QuotaExhausted, messages.StoreFull, messages.ServiceInterrupted}
	for i, first := range kinds {
		for j, second := range kinds {
			for _, p := range [][2]messages.Position{{"3", "4"}, {"4", "3"}} {
				a, b := interrupted(1, p[0], first, time.Time{}), interrupted(1, p[1], second, time.Time{})
				got := outcome([]*messages.Interruption{a, b}).Stop
				want := string(kinds[min(i, j)])
				if got.Kind != want || i == j && got.Position != "3" {
					t.Errorf("of %s at %s and %s at %s, %s at %s speaks, want %s", first, p[0], second, p[1], got.Kind, got.Position, want)
				}
			}
		}
	}
}
