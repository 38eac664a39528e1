package planner

import (
	"cmp"
	"errors"
	"slices"
)

// search finds the division of several axes with the fewest requests: of all ways to cut each axis into contiguous pieces
// such that the request of every axis's heaviest piece fits, one with the least product of the numbers of pieces.
//
// For each axis it lists what is worth considering: for each number of pieces the least weight that the heaviest of so few
// can have. The lists are short, because they are walked from few pieces to many and end where more pieces could not be part of
// a division better than one that is known. Axis by axis they are joined to combinations, of which those are dropped
// that another one beats in both number and weight.
type search struct {
	packers []*packer
	floors  []size // below the weight of any piece
	room    size
	bound   int // a product above it is of no use
}

// cutting is one way to cut one axis: pack with this room gives it.
type cutting struct {
	axis   int
	pieces int
	weight size // of the heaviest piece
	room   size
}

// combination is a cutting for each of some axes: one for the last of them, and those before; or those of two groups joined.
type combination struct {
	product int
	weight  size
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
		first, ok := s.cut(i, s.roomBeside(i), p.n)
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
func (s *search) cut(i int, room size, limit int) (cutting, bool) {
	p := s.packers[i]
	cuts, ok := p.pack(room, limit)
	if !ok {
		return cutting{}, false
	}
	return cutting{i, len(cuts), p.heaviest(cuts), room}, true
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
	c := &combination{product: 1}
	for i, share := range shares {
		cutting, ok := s.cut(i, share, s.bound/c.product)
		if !ok {
			return nil
		}
		c = &combination{product: c.product * cutting.pieces, weight: c.weight.plus(cutting.weight), last: cutting, before: c}
	}
	if !c.weight.fits(s.room) {
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
			if weight := l.weight.plus(r.weight); weight.fits(s.room) {
				best = &combination{product: l.product * r.product, weight: weight, joined: []*combination{l, r}}
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
	combinations := []*combination{{product: 1}}
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
				if weight := c.weight.plus(cutting.weight); weight.fits(beside) {
					next = append(next, &combination{product: c.product * cutting.pieces, weight: weight, last: cutting, before: c})
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
	room := s.roomBeside(i)
	room.both = min(room.both, room.url+room.body)
	list := s.descend(i, room, limit)
	if s.packers[i].alone == nil {
		return list
	}
	// Where values alone travel in the URL and several in the body, it may take more room for the body to spare the URL the
	// longest values. Each round spares it one more, and the last one all.
	company := s.packers[i].ground.url
	for rounds, found := 0, list; len(found) > 0 && room.url > company; rounds++ {
		longest := company
		for _, c := range found {
			longest = max(longest, c.weight.url)
		}
		if room.url = max(company, longest-1); rounds == spared {
			room.url = company
		}
		found = s.descend(i, room, limit)
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(a, b cutting) int { return cmp.Compare(a.pieces, b.pieces) })
	return list
}

// spared bounds the rounds in which the URL is spared single values.
const spared = 16

// descend gives, from few pieces to many, the cuttings that have the least weight of all with so many pieces.
func (s *search) descend(i int, room size, limit int) (list []cutting) {
	p := s.packers[i]
	for {
		cuts, ok := p.pack(room, limit)
		if !ok {
			return list
		}
		c := cutting{i, len(cuts), p.heaviest(cuts), room}
		if n := len(list); n > 0 && list[n-1].pieces == c.pieces && c.weight.fits(list[n-1].weight) {
			list[n-1] = c
		} else {
			list = append(list, c)
		}
		room.both = c.weight.both - 1
	}
}

// unbeaten drops combinations that have as many requests as another, or more, and do not weigh less. The fewest requests come
// first.
func unbeaten(all []*combination) []*combination {
	slices.SortStableFunc(all, func(a, b *combination) int {
		return cmp.Or(cmp.Compare(a.product, b.product), cmp.Compare(a.weight.both, b.weight.both))
	})
	kept := all[:0]
	var steps []size // of what is kept, the least body for each URL: one is longer, the other shorter
	for _, c := range all {
		at, found := slices.BinarySearchFunc(steps, c.weight.url, func(step size, url int) int { return cmp.Compare(step.url, url) })
		if !found {
			at--
		}
		if at >= 0 && steps[at].fits(c.weight) {
			continue
		}
		kept = append(kept, c)
		if at >= 0 && steps[at].body <= c.weight.body {
			continue // it is kept for its sum, which the steps do not know of
		}
		first := at
		if !found {
			first++
		}
		end := first
		for end < len(steps) && steps[end].body >= c.weight.body {
			end++
		}
		steps = slices.Replace(steps, first, end, c.weight)
	}
	return kept
}
