package planner

// packer cuts one axis into pieces that a room takes, each filled as far as it goes: no contiguous division has fewer pieces.
type packer struct {
	*scale
	least, most int // values of a piece; least is 2 where a value alone would not fit, and may be missed
	cuts        []int
}

// pack gives where the pieces end; ok is false when a value does not fit or it takes more than limit pieces. The cuts are
// good until the next call.
func (p *packer) pack(room size, limit int) (cuts []int, ok bool) {
	p.cuts = p.cuts[:0]
	length := 1
	for start := 0; start < p.n; {
		if len(p.cuts) == limit {
			return nil, false
		}
		end := p.fill(start, length, room)
		if end == start {
			if start = p.widen(room); start < 0 {
				return nil, false
			}
			continue
		}
		p.cuts = append(p.cuts, end)
		length, start = end-start, end
	}
	return p.cuts, true
}

// fill gives the end of the longest piece that begins at start and fits; guess is how many values the one before had. Of
// a piece of two or more values that fits, each shorter one of two or more fits too.
func (p *packer) fill(start, guess int, room size) int {
	last := min(p.n, start+p.most)
	fits := func(end int) bool { return p.weigh(start, end).fits(room) }
	shortest := start + 1
	if p.alone != nil {
		shortest = start + 2
	}
	if shortest > last || !fits(shortest) {
		if p.alone != nil && p.least == 1 && start < last && fits(start+1) {
			return start + 1
		}
		return start
	}
	good, bad := shortest, last+1 // good fits; bad does not, or is beyond the last
	if at := start + guess; at > good && at < bad {
		if fits(at) {
			good = at
		} else {
			bad = at
			for step := 1; bad-step > good; step *= 2 {
				if fits(bad - step) {
					good = bad - step
					break
				}
				bad -= step
			}
		}
	}
	return longest(good, bad, fits)
}

// longest narrows from good, which fits, to the last end before bad that fits; it looks near good first.
func longest(good, bad int, fits func(end int) bool) int {
	for step := 1; good+step < bad; step *= 2 {
		if !fits(good + step) {
			bad = good + step
			break
		}
		good += step
	}
	for bad-good > 1 {
		if middle := good + (bad-good)/2; fits(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good
}

// widen helps where a value does not fit alone and would fit beside the one before it: the piece before gives its last
// value. It gives where the next piece begins, or -1.
func (p *packer) widen(room size) int {
	k := len(p.cuts)
	if p.alone == nil || k == 0 {
		return -1
	}
	begin, end := 0, p.cuts[k-1]
	if k > 1 {
		begin = p.cuts[k-2]
	}
	shorter := end - begin - 1
	if shorter < p.least || p.most < 2 || !p.weigh(begin, end-1).fits(room) || !p.weigh(end-1, end+1).fits(room) {
		return -1
	}
	p.cuts[k-1] = end - 1
	return end - 1
}
