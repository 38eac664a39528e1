package planner

import (
	"cmp"
	"errors"
	"slices"
)

// search finds the division of several axes with the fewest requests: of all ways to cut each axis into contiguous pieces
// such that each request fits, one with the least product of the numbers of pieces.
//
// For each axis it lists what is worth considering: for each number of pieces the least load that so few can be. The lists
// are short, because they are walked from few pieces to many and end where more pieces could not be part of
// a division better than one that is known. Axis by axis they are joined to combinations, of which those are dropped
// that another one beats in both number and load.
//
// That no division has fewer requests holds without bound for axes whose values travel alone as they do in company. Of those
// whose values travel alone in the URL and several in the body, an axis of more than exactValues values is tried with few
// bounds of the URL (spared), among them no value alone, so that it never costs more than without such values; and where there
// are more than exactCombinations, a combination is dropped that another one beats when both are taken to send several values.
type search struct {
	packers []*packer
	floors  []size // below the weight of any piece
	room    size
	shared  size // what a request takes more when any axis sends several values
	bound   int  // a product above it is of no use
}

const (
	spared            = 4
	exactValues       = 64
	exactCombinations = 1 << 13
)

// cutting is one way to cut one axis: pack with this room gives it.
type cutting struct {
	axis   int
	pieces int
	load   load // of the heaviest pieces
	room   room
}

// combination is a cutting for each of some axes: one for the last of them, and those before; or those of two groups joined.
type combination struct {
	product int
	load    load
	last    cutting
	before  *combination
	joined  []*combination
}

// run gives a cutting for each axis. Errors are errNoneFits and ErrTooMany, when all that fit have more than bound requests.
func (s *search) run() ([]cutting, error) {
	s.floors = make([]size, len(s.packers))
	for i, p := range s.packers {
		s.floors[i] = p.floor()
	}
	fewest := make([]int, len(s.packers))
	lower := 1
	for i, p := range s.packers {
		beside := s.roomBeside(i)
		first, ok := s.cut(i, room{beside, beside.minus(s.shared)}, p.n)
		if !ok {
			return nil, errNoneFits
		}
		fewest[i] = first.pieces
		if lower > s.bound/first.pieces {
			return nil, ErrTooMany
		}
		lower *= first.pieces
	}
	best := s.guess()
	if best == nil || best.product > lower {
		if best != nil {
			s.bound = best.product - 1
		}
		if better := s.join(fewest); better != nil {
			best = better
		}
	}
	if best != nil {
		all := make([]cutting, len(s.packers))
		best.put(all)
		return all, nil
	}
	alone := size{}
	for _, p := range s.packers {
		alone = alone.plus(p.singles())
	}
	if alone.fits(s.room) {
		return nil, ErrTooMany
	}
	return nil, errNoneFits
}

// errNoneFits says that the pieces of the axes are too large however they are cut.
var errNoneFits = errors.New("no division fits")

// put places the cuttings of a combination at their axes.
func (c *combination) put(all []cutting) {
	for ; c != nil; c = c.before {
		for _, group := range c.joined {
			group.put(all)
		}
		if c.last.pieces > 0 {
			all[c.last.axis] = c.last
		}
	}
}

// roomBeside is the room of an axis when all others take as little as they can.
func (s *search) roomBeside(i int) size {
	room := s.room
	for j, floor := range s.floors {
		if j != i {
			room = room.minus(floor)
		}
	}
	return room
}

// cut cuts one axis into the fewest pieces that a room takes, at most limit.
func (s *search) cut(i int, room room, limit int) (cutting, bool) {
	p := s.packers[i]
	cuts, ok := p.pack(room, limit)
	if !ok {
		return cutting{}, false
	}
	return cutting{i, len(cuts), p.load(cuts), room}, true
}

// guess gives a division that fits, if a simple one does: the room is shared equally among the axes that do not fit in
// their share, or one axis has all that the others leave undivided.
func (s *search) guess() (best *combination) {
	wholes := make([]size, len(s.packers))
	for i, p := range s.packers {
		wholes[i] = p.weigh(0, p.n)
	}
	shares := [][]size{s.equalShares(wholes)}
	for i := range s.packers {
		one := slices.Clone(wholes)
		one[i] = s.room
		for j, whole := range wholes {
			if j != i {
				one[i] = one[i].minus(whole)
			}
		}
		shares = append(shares, one)
	}
	for _, share := range shares {
		if c := s.try(share); c != nil && (best == nil || c.product < best.product) {
			best = c
		}
	}
	return best
}

// equalShares gives axes that need less than an equal share what they need, and the others an equal share of the rest.
func (s *search) equalShares(wholes []size) []size {
	order := make([]int, len(wholes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(wholes[a].both, wholes[b].both) })
	shares := make([]size, len(wholes))
	left := s.room
	for at, i := range order {
		n := len(order) - at
		share := size{left.url / n, left.body / n, left.both / n}
		if wholes[i].fits(share) {
			share = wholes[i]
		}
		shares[i], left = share, left.minus(share)
	}
	return shares
}

// try cuts each axis as its share allows.
func (s *search) try(shares []size) *combination {
	c := &combination{product: 1, load: unloaded()}
	for i, share := range shares {
		cutting, ok := s.cut(i, room{share, share}, s.bound/c.product)
		if !ok {
			return nil
		}
		c = &combination{product: c.product * cutting.pieces, load: c.load.plus(cutting.load), last: cutting, before: c}
	}
	if !c.load.fits(s.room, s.shared) {
		return nil
	}
	return c
}

// join combines the cuttings of all axes. Axes that take room in the URL only are combined by themselves, and so are the others:
// within such a group one weight decides, and the lists stay short.
func (s *search) join(fewest []int) (best *combination) {
	var groups [2][]int
	for i, p := range s.packers {
		if p.body == nil && p.alone == nil {
			groups[0] = append(groups[0], i)
		} else {
			groups[1] = append(groups[1], i)
		}
	}
	if len(groups[0]) == 0 || len(groups[1]) == 0 {
		all := s.joinGroup(slices.Concat(groups[:]...), fewest, true)
		if len(all) == 0 {
			return nil
		}
		return all[0]
	}
	left, right := s.joinGroup(groups[0], fewest, false), s.joinGroup(groups[1], fewest, false)
	for _, l := range left {
		for _, r := range right {
			if r.product > s.bound/l.product {
				break
			}
			if load := l.load.plus(r.load); load.fits(s.room, s.shared) {
				best = &combination{product: l.product * r.product, load: load, joined: []*combination{l, r}}
				s.bound = best.product - 1
				break
			}
		}
	}
	return best
}

// joinGroup combines the cuttings of some axes, those with the fewest requests first. When they are all axes, only the first one
// counts.
func (s *search) joinGroup(group, fewest []int, all bool) []*combination {
	beside := s.room
	for i := range s.packers {
		beside = beside.minus(s.floors[i])
	}
	combinations := []*combination{{product: 1, load: unloaded()}}
	for at, i := range group {
		beside = beside.plus(s.floors[i])
		list := s.list(i, s.limit([]int{i}, fewest))
		limit := s.limit(group[:at+1], fewest)
		var next []*combination
		for _, c := range combinations {
			for _, cutting := range list {
				if cutting.pieces > limit/c.product {
					break
				}
				if load := c.load.plus(cutting.load); load.fits(beside, s.shared) {
					next = append(next, &combination{product: c.product * cutting.pieces, load: load, last: cutting, before: c})
					if all && at == len(group)-1 {
						limit = c.product * cutting.pieces
						break // more pieces of the last axis are of no use
					}
				}
			}
		}
		combinations = unbeaten(next)
	}
	return combinations
}

// limit is the most requests that cuttings of some axes may make, for all axes to have no more than bound.
func (s *search) limit(some, fewest []int) int {
	limit := s.bound
	for i, n := range fewest {
		if !slices.Contains(some, i) {
			limit /= n
		}
	}
	return limit
}

// list gives the cuttings of an axis that are worth considering, few pieces first.
func (s *search) list(i, limit int) []cutting {
	beside := s.roomBeside(i)
	beside.both = min(beside.both, beside.url+beside.body)
	room := room{beside, beside.minus(s.shared)}
	p := s.packers[i]
	list := s.descend(i, room, limit)
	if p.alone == nil {
		return list
	}
	// It may take more room for values in company to spare the URL the longest values alone. Each round spares it the longest
	// of those that the round before had alone, until they are not what fills a request.
	urls := s.singleURLs()
	for rounds, found := 1, list; ; rounds++ {
		longest, felt := nothing(), false
		for _, c := range found {
			longest = longest.most(c.load.lone)
			felt = felt || c.load.company != nothing() && (urls > s.room.url || c.load.lone.both > c.load.company.both)
		}
		if !felt || longest == nothing() {
			break
		}
		if room.lone.both = longest.both - 1; rounds > spared && p.n > exactValues {
			room.lone = nothing()
		}
		found = s.descend(i, room, limit)
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(a, b cutting) int {
		return cmp.Or(cmp.Compare(a.pieces, b.pieces), cmp.Compare(a.load.total().both, b.load.total().both))
	})
	kept := list[:0]
	for _, c := range list {
		if !slices.ContainsFunc(kept, func(k cutting) bool { return k.load.beats(c.load) }) {
			kept = append(kept, c)
		}
	}
	return kept
}

// singleURLs is what the URL of a request takes at most when each axis sends a value alone.
func (s *search) singleURLs() int {
	most := 0
	for _, p := range s.packers {
		most += max(p.singles().url, p.weigh(0, p.n).url)
	}
	return most
}

// descend gives, from few pieces to many, the cuttings whose heaviest piece has the least weight of all with so many pieces: of
// several values, where those and values alone weigh differently.
func (s *search) descend(i int, room room, limit int) (list []cutting) {
	for {
		c, ok := s.cut(i, room, limit)
		if !ok {
			return list
		}
		if n := len(list); n > 0 && list[n-1].pieces == c.pieces && c.load.beats(list[n-1].load) {
			list[n-1] = c
		} else {
			list = append(list, c)
		}
		switch {
		case s.packers[i].alone == nil:
			room.lone.both = c.load.lone.both - 1
		case c.load.company == nothing():
			return list
		default:
			room.company.both = c.load.company.both - 1
		}
	}
}

// unbeaten drops combinations that have as many requests as another, or more, and are not less of a load. The fewest requests
// come first.
func unbeaten(all []*combination) []*combination {
	slices.SortStableFunc(all, func(a, b *combination) int {
		return cmp.Or(cmp.Compare(a.product, b.product), cmp.Compare(a.load.total().both, b.load.total().both))
	})
	exact := len(all) <= exactCombinations
	kept := all[:0]
	var steps []load // of what is kept, the least body for each URL: one is longer, the other shorter
	for _, c := range all {
		total := c.load.total()
		at, found := slices.BinarySearchFunc(steps, total.url, func(step load, url int) int { return cmp.Compare(step.total().url, url) })
		if !found {
			at--
		}
		if at >= 0 && (steps[at].beats(c.load) || !exact && steps[at].total().fits(total)) {
			continue
		}
		kept = append(kept, c)
		if at >= 0 && steps[at].total().body <= total.body {
			continue // it is kept for what the steps do not know of
		}
		first := at
		if !found {
			first++
		}
		end := first
		for end < len(steps) && steps[end].total().body >= total.body {
			end++
		}
		steps = slices.Replace(steps, first, end, c.load)
	}
	return kept
}
