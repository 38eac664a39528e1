package planner

import (
	"cmp"
	"container/heap"
	"slices"
)

// span is what lies from start to before end: values of a list by their index, or seconds.
type span struct{ start, end, rank int }

// pieces are those of one axis, as a heap: first the one of the highest rank, of several the first one. Pieces that cannot be
// divided have the rank -1.
type pieces struct {
	spans  []span
	least  int // values that a piece must have to be divided
	rank   func(start, end int) int
	middle func(start, end int) int
}

func byLength(start, end int) int { return end - start }

// newPieces are pieces of a list that end before the cuts.
func newPieces(cuts []int, rank func(start, end int) int) *pieces {
	p := &pieces{least: 2, rank: rank, middle: func(start, end int) int { return start + (end-start)/2 }}
	start := 0
	for _, end := range cuts {
		p.spans = append(p.spans, p.span(start, end))
		start = end
	}
	heap.Init(p)
	return p
}

func (p *pieces) span(start, end int) span {
	if end-start < p.least {
		return span{start, end, -1}
	}
	return span{start, end, p.rank(start, end)}
}

// leave lets pieces of fewer values than least undivided.
func (p *pieces) leave(least int) {
	p.least = least
	for i, s := range p.spans {
		p.spans[i] = p.span(s.start, s.end)
	}
	heap.Init(p)
}

func (p *pieces) divisible() bool { return p.spans[0].rank >= 0 }

// halve makes two of the first piece, and gives them.
func (p *pieces) halve() (left, right span) {
	first := p.spans[0]
	middle := p.middle(first.start, first.end)
	left, right = p.span(first.start, middle), p.span(middle, first.end)
	p.spans[0] = left
	heap.Fix(p, 0)
	heap.Push(p, right)
	return left, right
}

func (p *pieces) cuts() []int {
	cuts := make([]int, len(p.spans))
	for i, s := range p.spans {
		cuts[i] = s.end
	}
	slices.Sort(cuts)
	return cuts
}

func (p *pieces) starts() []int64 {
	starts := make([]int64, len(p.spans))
	for i, s := range p.spans {
		starts[i] = int64(s.start)
	}
	slices.Sort(starts)
	return starts
}

// Len, Less, Swap, Push and Pop are what container/heap needs.
func (p *pieces) Len() int { return len(p.spans) }

// Less orders by rank, then by place.
func (p *pieces) Less(i, j int) bool {
	a, b := p.spans[i], p.spans[j]
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.start, b.start)) < 0
}

// Swap exchanges two pieces.
func (p *pieces) Swap(i, j int) { p.spans[i], p.spans[j] = p.spans[j], p.spans[i] }

// Push appends a piece.
func (p *pieces) Push(x any) {
	if s, ok := x.(span); ok {
		p.spans = append(p.spans, s)
	}
}

// Pop takes the last piece.
func (p *pieces) Pop() any {
	last := p.spans[len(p.spans)-1]
	p.spans = p.spans[:len(p.spans)-1]
	return last
}
