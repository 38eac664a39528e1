package planner

import (
	"net/url"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// halving is the division that dataretrieval makes, the client that most people come from: it halves, again and again, the
// piece with the longest text until the request of the longest pieces fits, and then refines as this package does. It is the
// measure of how fine a division may become: for no max_chunks does a plan have more chunks than that client's. Refining a
// division of fewer pieces can end nearer to max_chunks, and would cost more requests than the same query did before.
type halving struct {
	d      *division
	axes   []*axis
	pieces []*pieces
	single []span // of each axis, the value alone with the longest text, of those that have come to be alone
	commas int    // in values that are not on an axis
}

// An escaped comma has two bytes more than the one that Braid sends.
const escapedComma = 2

// yardstick gives the number of chunks that halving ends with for a max_chunks of limit; limit itself where halving cannot
// make the requests small enough.
func (d *division) yardstick(limit int) int {
	packs := d.packs()
	if len(packs) < 2 {
		return limit // with one axis, each division reaches max_chunks exactly or ends in single values
	}
	h := &halving{d: d, axes: packs}
	for name, values := range d.grid.fixed {
		if d.params.sendsCommas(name) {
			h.commas += len(values) - 1
		}
	}
	for _, a := range packs {
		h.pieces = append(h.pieces, newPieces([]int{len(a.values)}, byEscapedText(a)))
	}
	others := d.grid.Len()
	for _, a := range packs {
		others /= a.len()
	}
	total := others
	h.single = make([]span, len(packs))
	for !h.fits() {
		i := h.next()
		if i < 0 || total > MaxChunks {
			return limit
		}
		total += total / h.pieces[i].Len()
		h.halve(i)
	}
	for i, p := range h.pieces {
		h.pieces[i] = newPieces(p.cuts(), byLength)
	}
	return min(limit, halveEvenly(h.pieces, others, limit))
}

// next gives the axis with the longest piece that has two or more values; -1 when there is none.
func (h *halving) next() int {
	best := -1
	for i, p := range h.pieces {
		if p.divisible() && (best < 0 || p.spans[0].rank > h.pieces[best].spans[0].rank) {
			best = i
		}
	}
	return best
}

// halve halves the longest piece of an axis.
func (h *halving) halve(i int) {
	left, right := h.pieces[i].halve()
	for _, s := range []span{left, right} {
		if s.rank >= 0 {
			continue
		}
		s.rank = h.pieces[i].rank(s.start, s.end)
		if one := h.single[i]; s.rank > one.rank || s.rank == one.rank && s.start < one.start || one.end == 0 {
			h.single[i] = s
		}
	}
}

// longest gives the piece of an axis with the longest text.
func (h *halving) longest(i int) span {
	first, one := h.pieces[i].spans[0], h.single[i]
	if first.rank > one.rank || first.rank == one.rank && first.start < one.start || one.end == 0 {
		return first
	}
	return one
}

// fits tells whether the request of the piece with the longest text of each axis is within the limits.
func (h *halving) fits() bool {
	total := h.d.bench.first.plus(sized(escapedComma*h.commas, 0))
	company := false
	for _, a := range h.d.grid.axes {
		if !a.packs() {
			total = total.plus(h.d.scales[a].singles())
		}
	}
	for i, a := range h.axes {
		s := h.longest(i)
		n := s.end - s.start
		total = total.plus(h.d.scales[a].weigh(s.start, s.end))
		if h.d.params.sendsCommas(a.param) {
			total = total.plus(sized(escapedComma*(n-1), 0))
		}
		company = company || h.d.scales[a].alone != nil && n > 1
	}
	if company {
		total = total.plus(h.d.shared)
	}
	return total.fits(roomOf(h.d.collection.Limits))
}

// sendsCommas tells whether the values under a name are sent with commas between them.
func (p parameters) sendsCommas(name string) bool {
	for _, param := range p {
		if param.Name == name || slices.Contains(param.Aliases, name) {
			return param.Many == service.ManyComma
		}
	}
	return false
}

// byEscapedText ranks pieces by the length of their text in a URL.
func byEscapedText(a *axis) func(start, end int) int {
	sums := make([]int, len(a.values)+1)
	for i, value := range a.values {
		sums[i+1] = sums[i] + len(url.QueryEscape(value))
	}
	separator := len("%2C")
	if a.kind == service.AxisClauses {
		separator = len("+OR+")
	}
	return func(start, end int) int { return sums[end] - sums[start] + separator*(end-start-1) }
}
