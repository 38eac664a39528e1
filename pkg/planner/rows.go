package planner

import (
	"errors"
	"maps"
	"slices"
	"sort"

	"github.com/braidhq/braid/pkg/service"
)

// packRows cuts the pack and clauses axes with the fewest requests that the limits of bytes and of values allow. Where those would give
// more rows than their target, by the estimate, one axis gets shorter pieces, and others only when one is not enough; of the axes that
// could it is the one that comes nearest to the target, and of several the one that costs the fewest requests.
func (d *division) packRows() error {
	packs := d.packs()
	for _, a := range packs {
		a.asWritten = false
	}
	none := make([]int, len(packs))
	for i, a := range packs {
		none[i] = d.mostIn(a)
	}
	packed, err := d.packBytes(none)
	if err != nil {
		return err
	}
	best := packed
	if d.excess(d.crowded(packed)) > 0 {
		var least int64
		found := false
		for i := range packs {
			cuts := d.lessen(i, slices.Clone(none), packed)
			over := d.excess(d.crowded(cuts))
			if !found || over < least || over == least && product(cuts) < product(best) {
				best, least, found = cuts, over, true
			}
		}
	}
	for i, a := range packs {
		a.cuts = best[i]
	}
	return nil
}

// lessen bounds the values in a piece until the rows are within their target: first of the axis i, and then of the axis
// with the longest pieces, as far as that helps.
func (d *division) lessen(i int, most []int, cuts [][]int) [][]int {
	packs := d.packs()
	for {
		with := d.crowded(cuts)
		if d.excess(with) == 0 {
			return cuts
		}
		fewer := d.mostValues(with, packs[i].param)
		if fewer == len(with[packs[i].param]) {
			if i = d.nextToLessen(with); i < 0 {
				return cuts
			}
			continue
		}
		most[i] = fewer
		shorter, err := d.packBytes(most)
		if err != nil {
			return cuts // the target is a wish: a division that it would make impossible stays as it is
		}
		cuts = shorter
	}
}

// nextToLessen gives the axis with the longest pieces of those whose values make rows; -1 when there is none.
func (d *division) nextToLessen(with service.Values) int {
	best, most := -1, 1
	for i, a := range d.packs() {
		if n := len(with[a.param]); n > most && d.mostValues(with, a.param) < n {
			best, most = i, n
		}
	}
	return best
}

func product(cuts [][]int) int {
	n := 1
	for _, c := range cuts {
		n *= len(c)
	}
	return n
}

// packBytes gives, for each pack and clauses axis, the cuts of a division with the fewest requests in which no piece has more
// than most of its axis's values.
func (d *division) packBytes(most []int) ([][]int, error) {
	if err := d.weighAll(); err != nil {
		return nil, err
	}
	packs := d.packs()
	s := &search{bound: MaxChunks, room: roomOf(d.collection.Limits).minus(d.bench.first)}
	for _, a := range d.grid.axes {
		if !a.packs() {
			s.bound /= a.len()
			s.room = s.room.minus(d.scales[a].singles())
		}
	}
	for i, a := range packs {
		s.packers = append(s.packers, &packer{scale: d.scales[a], most: most[i]})
	}
	s.shared = d.shared
	cuttings, err := s.run()
	if err != nil && d.shared != (size{}) {
		// Among very many combinations one without several values may be lost.
		for _, p := range s.packers {
			if p.alone != nil {
				p.most = 1
			}
		}
		cuttings, err = s.run()
	}
	switch {
	case errors.Is(err, errNoneFits):
		return nil, d.saturated()
	case err != nil:
		return nil, tooMany()
	}
	cuts := make([][]int, len(packs))
	for i, c := range cuttings {
		again, _ := s.packers[i].pack(c.room, c.pieces)
		cuts[i] = slices.Clone(again)
	}
	return cuts, nil
}

// weighAll measures every axis. What requests take once when any axis sends several values, such as the frame of
// a body, is taken out of the weights of the axes and kept apart.
func (d *division) weighAll() error {
	if d.weighed {
		return nil
	}
	d.weighed = true
	var lone []*axis
	for _, a := range d.grid.axes {
		s, err := d.scale(a)
		if err != nil {
			return err
		}
		if a.packs() && s.alone != nil {
			lone = append(lone, a)
		}
	}
	if len(lone) < 2 {
		return nil
	}
	twice := func(a *axis) []string { return []string{a.values[0], a.values[0]} }
	one, err := d.bench.with(lone[0].param, twice(lone[0]))
	if err != nil {
		return err
	}
	two, err := d.bench.with(lone[1].param, twice(lone[1]))
	if err != nil {
		return err
	}
	d.bench.values[lone[0].param] = twice(lone[0])
	both, err := d.bench.with(lone[1].param, twice(lone[1]))
	d.bench.values[lone[0].param] = lone[0].values[:1]
	if err != nil {
		return err
	}
	d.shared = one.plus(two).minus(both)
	for _, a := range lone {
		d.scales[a].ground = d.scales[a].ground.minus(d.shared)
	}
	return nil
}

// crowded is a request in which every axis contributes its piece of the most values, and its longest window.
func (d *division) crowded(cuts [][]int) service.Values {
	values := maps.Clone(d.grid.fixed)
	packed := 0
	for _, a := range d.grid.axes {
		switch a.kind {
		case service.AxisWindow:
			values[a.param] = a.windows.piece(a.windows.longest())
		case service.AxisEach:
			values[a.param] = a.values[:1]
		case service.AxisPack, service.AxisClauses:
			most, start := 0, 0
			for _, end := range cuts[packed] {
				most, start = max(most, end-start), end
			}
			values[a.param] = a.values[:most]
			packed++
		}
	}
	return values
}

// excess is how many rows a request is over their target, by the estimate; 0 where there is none.
func (d *division) excess(with service.Values) int64 {
	target := d.collection.Limits.ChunkRows
	if target == 0 {
		return 0
	}
	rows, err := d.collection.EstimateRows(with, d.opts.Now)
	if err != nil {
		return 0
	}
	return max(0, rows-target)
}

// mostValues is how many values of param a request may have for its rows to stay within their target, at least one: all of
// them when they do so anyway, or when the rows do not depend on the parameter.
func (d *division) mostValues(with service.Values, param string) int {
	values := with[param]
	over := d.excess(with)
	fewer := maps.Clone(with)
	fewer[param] = values[:1]
	if over == 0 || d.excess(fewer) >= over {
		return len(values)
	}
	return max(1, sort.Search(len(values), func(n int) bool {
		fewer[param] = values[:n+1]
		return d.excess(fewer) > 0
	}))
}
