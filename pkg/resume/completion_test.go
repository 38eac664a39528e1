package resume_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func TestACompletionIsTheSetOfWhatWasAddedAndNotRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c resume.Completion
		model := map[messages.Position]bool{}
		position := rapid.Custom(func(t *rapid.T) messages.Position {
			p := messages.PositionAt(rapid.OneOf(rapid.IntRange(0, 40), rapid.SampledFrom([]int{1 << 20, 1<<31 - 1})).Draw(t, "root"))
			if rapid.IntRange(0, 4).Draw(t, "child") == 0 {
				p += ".1"
			}
			return p
		})
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			p := position.Draw(t, "position")
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				c.Remove(p)
				delete(model, p)
				continue
			}
			if added := c.Add(p); added == model[p] {
				t.Fatalf("adding %s to %v tells %t", p, model, added)
			}
			model[p] = true
		}
		checkCompletion(t, &c, model)
	})
}

func checkCompletion(t *rapid.T, c *resume.Completion, model map[messages.Position]bool) {
	t.Helper()
	var roots []messages.Position
	for p := range model {
		if !c.Has(p) {
			t.Fatalf("%s is missing", p)
		}
		if !p.IsChild() {
			roots = append(roots, p)
		}
	}
	if c.Roots() != len(roots) {
		t.Fatalf("%d positions of the plan, want %d", c.Roots(), len(roots))
	}
	total, limit := rapid.IntRange(0, 45).Draw(t, "total"), rapid.IntRange(0, 45).Draw(t, "limit")
	var missing []messages.Position
	before := 0
	for i := range total {
		p := messages.PositionAt(i)
		if !model[p] && len(missing) < limit {
			missing = append(missing, p)
		}
		if c.Has(p) != model[p] {
			t.Fatalf("%s is there: %t", p, c.Has(p))
		}
		if model[p] {
			before++
		}
	}
	if got := c.Missing(total, limit); !slices.Equal(got, missing) {
		t.Fatalf("missing are %v, want %v of %v", got, missing, slices.SortedFunc(maps.Keys(model), messages.Position.Compare))
	}
	if got := c.Before(total); got != before {
		t.Fatalf("%d before %d, want %d", got, total, before)
	}
}

func TestPositionsOfACompletionAreInOrder(t *testing.T) {
	var c resume.Completion
	for _, p := range []messages.Position{"3", "10", "0"} {
		c.Add(p)
	}
	got := c.Missing(12, 100)
	want := []messages.Position{"1", "2", "4", "5", "6", "7", "8", "9", "11"}
	if !slices.Equal(got, want) || !slices.IsSortedFunc(got, func(a, b messages.Position) int { return cmp.Compare(a.Index(), b.Index()) }) {
		t.Errorf("got %v", got)
	}
}
