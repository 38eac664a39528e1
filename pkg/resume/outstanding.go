package resume

import (
	"cmp"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
)

// Spans tells where the outstanding items stand in the plan, in at most so many spans. Where there would be more, those with the
// fewest positions between them become one: a run goes in order, so these have come back, as a rule.
func (r *Run) Spans(most int) []messages.Span {
	indexes := make([]int, 0, len(r.outstanding))
	for p := range r.outstanding {
		indexes = append(indexes, p.Index())
	}
	slices.Sort(indexes)
	var spans []messages.Span
	for _, i := range indexes {
		if last := len(spans) - 1; last >= 0 && i <= spans[last][1]+1 {
			spans[last][1] = i
		} else {
			spans = append(spans, messages.Span{i, i})
		}
	}
	return bridged(spans, most)
}

// bridged joins spans over the smallest gaps, of equal ones the lowest, until there are at most so many.
func bridged(spans []messages.Span, most int) []messages.Span {
	excess := len(spans) - most
	if excess <= 0 {
		return spans
	}
	gaps := make([]int, len(spans)-1) // numbers of the spans before them
	for i := range gaps {
		gaps[i] = i
	}
	slices.SortStableFunc(gaps, func(a, b int) int { return cmp.Compare(spans[a+1][0]-spans[a][1], spans[b+1][0]-spans[b][1]) })
	closed := make([]bool, len(spans))
	for _, i := range gaps[:excess] {
		closed[i+1] = true
	}
	var joined []messages.Span
	for i, s := range spans {
		if closed[i] {
			joined[len(joined)-1][1] = s[1]
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}
