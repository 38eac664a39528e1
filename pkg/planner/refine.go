package planner

import (
	"maps"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// refine divides further as max_chunks asks, and keeps what the limits forced. Step by step it halves the piece with the most
// values, of the axes whose halving keeps the whole plan within max_chunks; the cap is one on the product of all axes. Where
// all pack and clauses axes have come down to single values, or there are none, the longest windows are halved.
func (d *division) refine() error {
	if d.opts.MaxChunks <= d.grid.Len() {
		return nil
	}
	if err := d.refinePacks(); err != nil {
		return err
	}
	for _, a := range d.packs() {
		if a.len() < len(a.values) {
			return nil
		}
	}
	return d.refineWindows()
}

func (d *division) refinePacks() error {
	packs := d.packs()
	if len(packs) == 0 {
		return nil
	}
	if err := d.weighAll(); err != nil {
		return err
	}
	limit := d.yardstick(d.opts.MaxChunks)
	others := d.grid.Len()
	for _, a := range packs {
		others /= a.len()
	}
	cuts := make([][]int, len(packs))
	for _, least := range []int{2, 4} {
		axes := make([]*pieces, len(packs))
		for i, a := range packs {
			axes[i] = newPieces(a.cuts, byLength)
			if d.scales[a].alone != nil {
				axes[i].leave(least)
			}
		}
		halveEvenly(axes, others, limit)
		for i, p := range axes {
			cuts[i] = p.cuts()
		}
		// Values that come to be alone may be longer than they were in company.
		if d.fit(cuts) {
			break
		}
	}
	// Pieces of one length are better company than halves of halves, where they are short enough.
	even := make([][]int, len(packs))
	for i, a := range packs {
		even[i] = evenCuts(len(a.values), len(cuts[i]))
	}
	if d.fit(even) {
		cuts = even
	}
	for i, a := range packs {
		a.cuts = cuts[i]
	}
	return nil
}

// evenCuts gives the ends of n pieces of so many values that differ in length by one at most, the longer ones first.
func evenCuts(values, n int) []int {
	cuts := make([]int, 0, n)
	end := 0
	for ; n > 0; n-- {
		end += (values - end + n - 1) / n
		cuts = append(cuts, end)
	}
	return cuts
}

// refineWindows halves the longest windows of the first interval that has some to halve, also of one that its definition
// leaves undivided. Where the ends of windows make a request too long, the interval stays as it is.
func (d *division) refineWindows() error {
	place := 0
	for _, rule := range d.collection.Axes() {
		for _, declared := range rule.Params {
			param, _ := d.params.given(d.values, declared)
			i := slices.IndexFunc(d.grid.axes, func(a *axis) bool { return a.param == param })
			if i >= 0 {
				place = i + 1
			}
			if rule.Kind != service.AxisWindow {
				continue
			}
			if halved, err := d.halveWindows(rule, param, i, place); halved || err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *division) halveWindows(rule service.Axis, param string, i, place int) (halved bool, err error) {
	before, fixed := slices.Clone(d.grid.axes), d.grid.fixed
	w, ok := open(d.params, rule, d.values[param], d.opts.Now)
	if !ok {
		return false, nil
	}
	if i >= 0 {
		w.starts = d.grid.axes[i].windows.starts
	}
	others := d.grid.Len() / w.len()
	windows := w.pieces()
	if halveEvenly([]*pieces{windows}, others, d.opts.MaxChunks) == others*w.len() {
		return false, nil
	}
	w.starts = windows.starts()
	a := &axis{param: param, kind: service.AxisWindow, windows: w}
	if i >= 0 {
		d.grid.axes[i] = a
	} else {
		d.grid.axes = slices.Insert(d.grid.axes, place, a)
		d.grid.fixed = maps.Clone(fixed)
		delete(d.grid.fixed, param)
	}
	largest, err := d.largest()
	if err != nil {
		return false, err
	}
	total, err := measure(d.collection, largest)
	if !total.fits(roomOf(d.collection.Limits)) {
		d.grid.axes, d.grid.fixed = before, fixed
	}
	return true, err
}

// fit tells whether the requests of a division are within the limits.
func (d *division) fit(cuts [][]int) bool {
	total := d.bench.first
	company := false
	packed := 0
	for _, a := range d.grid.axes {
		s := d.scales[a]
		if !a.packs() {
			total = total.plus(s.singles())
			continue
		}
		total = total.plus(s.heaviest(cuts[packed]))
		company = company || s.alone != nil && len(cuts[packed]) < len(a.values)
		packed++
	}
	if company {
		total = total.plus(d.shared)
	}
	return total.fits(roomOf(d.collection.Limits))
}

// halveEvenly halves the longest pieces, one at a time, while all axes together have fewer than limit chunks, and gives how many
// they have. others is the number of chunks that axes beside these make of each.
func halveEvenly(axes []*pieces, others, limit int) int {
	total := others
	for _, p := range axes {
		total *= p.Len()
	}
	for total < limit {
		var best *pieces
		for _, p := range axes {
			if total+total/p.Len() <= limit && p.divisible() && (best == nil || p.spans[0].rank > best.spans[0].rank) {
				best = p
			}
		}
		if best == nil {
			return total
		}
		total += total / best.Len()
		best.halve()
	}
	return total
}
