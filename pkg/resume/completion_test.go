package resume_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// known is what a naive completion knows: position → is it split.
type known map[messages.Position]bool

// leaves are the positions that stand in the place of p, in order.
func (k known) leaves(p messages.Position) []messages.Position {
	if !k[p] {
		return []messages.Position{p}
	}
	return slices.Concat(k.leaves(p+".0"), k.leaves(p+".1"))
}

func (k known) has(p messages.Position) bool {
	split, have := k[p]
	return have && !split
}

func TestACompletionIsWhatWasToldLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c resume.Completion
		model := known{}
		position := rapid.Custom(func(t *rapid.T) messages.Position {
			p := messages.PositionAt(rapid.OneOf(rapid.IntRange(0, 12), rapid.SampledFrom([]int{1 << 20, 1<<31 - 1})).Draw(t, "root"))
			for range rapid.IntRange(0, 3).Draw(t, "depth") {
				p += rapid.SampledFrom([]messages.Position{".0", ".1", ".0", ".1", ".2"}).Draw(t, "child")
			}
			return p
		})
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			p := position.Draw(t, "position")
			split, have := model[p]
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				c.Remove(p)
				delete(model, p)
			case 1, 2:
				if news := c.Add(p); news != !model.has(p) {
					t.Fatalf("adding %s to %v tells %t", p, model, news)
				}
				model[p] = false
			default:
				if news := c.Split(p); news == (have && split) {
					t.Fatalf("splitting %s in %v tells %t", p, model, news)
				}
				model[p] = true
			}
			if c.Has(p) != model.has(p) || c.IsSplit(p) != model[p] {
				t.Fatalf("%s has rows: %t, is split: %t", p, c.Has(p), c.IsSplit(p))
			}
		}
		checkCompletion(t, &c, model)
	})
}

func checkCompletion(t *rapid.T, c *resume.Completion, model known) {
	t.Helper()
	total, limit := rapid.IntRange(0, 14).Draw(t, "total"), rapid.IntRange(0, 45).Draw(t, "limit")
	var missing, there []messages.Position
	own := 0
	for i := range total {
		if _, have := model[messages.PositionAt(i)]; have {
			own++
		}
		for _, p := range model.leaves(messages.PositionAt(i)) {
			if model.has(p) {
				there = append(there, p)
			} else {
				missing = append(missing, p)
			}
		}
	}
	if got := slices.Collect(c.Leaves(total)); !slices.Equal(got, there) {
		t.Fatalf("there are %v, want %v of %v", got, there, model)
	}
	if got := c.Missing(total, limit); !slices.Equal(got, missing[:min(limit, len(missing))]) {
		t.Fatalf("missing are %v, want %d of %v", got, limit, missing)
	}
	if got := c.Before(total); got != own {
		t.Fatalf("%d before %d, want %d", got, total, own)
	}
	checkWhole(t, c, model)
}

// checkWhole compares what is counted over all positions.
func checkWhole(t *rapid.T, c *resume.Completion, model known) {
	t.Helper()
	roots, splits := map[int]bool{}, 0
	for p := range model {
		complete := true
		for _, leaf := range model.leaves(messages.PositionAt(p.Index())) {
			complete = complete && model.has(leaf)
		}
		if complete {
			roots[p.Index()] = true
		}
		counts := true
		for q := p; q.IsChild(); q = q.Parent() {
			counts = counts && model[q.Parent()] && (q == q.Parent()+".0" || q == q.Parent()+".1")
		}
		if c.Counts(p) != counts {
			t.Fatalf("%s counts: %t, in %v", p, c.Counts(p), model)
		}
		if !model[p] || !counts {
			continue
		}
		splits++
		var below []messages.Position
		for _, leaf := range model.leaves(p) {
			if !model.has(leaf) {
				below = append(below, leaf)
			}
		}
		if got := slices.Collect(c.MissingBelow(p)); !slices.Equal(got, below) {
			t.Fatalf("missing below %s are %v, want %v", p, got, below)
		}
	}
	if c.Roots() != len(roots) || c.Splits() != splits {
		t.Fatalf("%d positions of the plan are complete and %d split, want %d and %d, of %v", c.Roots(), c.Splits(), len(roots), splits, model)
	}
}
