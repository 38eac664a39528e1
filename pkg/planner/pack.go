package planner

// packer cuts one axis into pieces that a room takes, each filled as far as it goes: no contiguous division has fewer pieces.
type packer struct {
	*scale
	most int // values of a piece
	cuts []int
}

// room is what pieces may weigh: values alone, and several together. They differ where a value alone travels in the URL, and
// several in the body. An axis on which that makes no difference has its room in lone.
type room struct{ lone, company size }

// pack gives where the pieces end; ok is false when a value fits in no piece or it takes more than limit pieces. The cuts are
// good until the next call.
func (p *packer) pack(room room, limit int) (cuts []int, ok bool) {
	p.cuts = p.cuts[:0]
	length := 1
	for start := 0; start < p.n; {
		if len(p.cuts) == limit {
			return nil, false
		}
		end := p.fill(start, length, room)
		if end == start {
			if p.alone == nil {
				return nil, false
			}
			return p.packAround(room, limit)
		}
		p.cuts = append(p.cuts, end)
		length, start = end-start, end
	}
	return p.cuts, true
}

// fill gives the end of the longest piece that begins at start and fits; start itself when none does. guess is how many values
// the piece before had.
func (p *packer) fill(start, guess int, room room) int {
	if p.alone == nil {
		return p.extend(start, start+1, guess, room.lone)
	}
	if end := p.extend(start, start+2, guess, room.company); end > start {
		return end
	}
	if p.weigh(start, start+1).fits(room.lone) {
		return start + 1
	}
	return start
}

// packAround packs where some value does not fit alone and would beside another: then filling each piece as far as it goes
// can leave such a value over. From the last value to the first it finds how few pieces the values from there on need.
func (p *packer) packAround(room room, limit int) (cuts []int, ok bool) {
	never := p.n + 1
	need, next := make([]int, p.n+1), make([]int, p.n+1)
	var ends []int // where a piece of several values may end: the last end first, and each needs no more than those behind it
	reach := 1
	for start := p.n - 1; start >= 0; start-- {
		if end := start + 2; end <= p.n {
			for len(ends) > 0 && need[ends[len(ends)-1]] > need[end] {
				ends = ends[:len(ends)-1]
			}
			ends = append(ends, end)
		}
		last := p.extend(start, start+2, reach, room.company)
		for len(ends) > 0 && ends[0] > last {
			ends = ends[1:]
		}
		reach = max(1, last-start)
		need[start] = never
		if len(ends) > 0 && need[ends[0]] < never {
			need[start], next[start] = need[ends[0]]+1, ends[0]
		}
		if need[start+1]+1 < need[start] && p.weigh(start, start+1).fits(room.lone) {
			need[start], next[start] = need[start+1]+1, start+1
		}
	}
	if need[0] > limit || need[0] == never {
		return nil, false
	}
	p.cuts = p.cuts[:0]
	for start := 0; start < p.n; start = next[start] {
		p.cuts = append(p.cuts, next[start])
	}
	return p.cuts, true
}

// extend gives the end of the longest piece from start that fits and ends at shortest or later; start when there is none. Of
// a piece that fits, each shorter one of two or more values fits too.
func (p *packer) extend(start, shortest, guess int, room size) int {
	last := min(p.n, start+p.most)
	fits := func(end int) bool { return p.weigh(start, end).fits(room) }
	if shortest > last || !fits(shortest) {
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
