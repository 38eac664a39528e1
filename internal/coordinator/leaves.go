package coordinator

import (
	"iter"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
)

// leaves gives the chunks of the plan in order, and of those that were split what they were split into.
func (p *pinned) leaves(survey *Survey) iter.Seq2[messages.Position, planner.Chunk] {
	return func(yield func(messages.Position, planner.Chunk) bool) {
		i := 0
		for chunk := range p.plan.All() {
			if !p.leavesOf(survey, messages.PositionAt(i), chunk, yield) {
				return
			}
			i++
		}
	}
}

func (p *pinned) leavesOf(survey *Survey, at messages.Position, chunk planner.Chunk, yield func(messages.Position, planner.Chunk) bool) bool {
	if survey.Completed.IsSplit(at) {
		first, second, deeper := at.Children()
		if halves, ok := p.split(chunk); ok && deeper {
			return p.leavesOf(survey, first, halves[0], yield) && p.leavesOf(survey, second, halves[1], yield)
		}
	}
	return yield(at, chunk)
}
