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
	pieces int
	weight size // of the heaviest piece
	room   size
}

// combination is a cutting for each of the first axes.
type combination struct {
	product int
	weight  size
	last    cutting
	before  *combination
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
		return best.cuttings(), nil
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

func (c *combination) cuttings() []cutting {
	var all []cutting
	for ; c != nil && c.before != nil; c = c.before {
		all = append(all, c.last)
	}
	slices.Reverse(all)
	return all
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
	return cutting{len(cuts), p.heaviest(cuts), room}, true
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
		c = &combination{c.product * cutting.pieces, c.weight.plus(cutting.weight), cutting, c}
	}
	if !c.weight.fits(s.room) {
		return nil
	}
	return c
}

// join combines the cuttings of all axes.
func (s *search) join(fewest []int) (best *combination) {
	lists := make([][]cutting, len(s.packers))
	for i := range s.packers {
		limit := s.bound
		for j, n := range fewest {
			if j != i {
				limit /= n
			}
		}
		lists[i] = s.list(i, limit)
	}
	combinations := []*combination{{product: 1}}
	for i, list := range lists {
		most, beside := s.bound, s.room
		for j := i + 1; j < len(lists); j++ {
			most, beside = most/fewest[j], beside.minus(s.floors[j])
		}
		var next []*combination
		for _, c := range combinations {
			for _, cutting := range list {
				if cutting.pieces > most/c.product {
					break
				}
				if weight := c.weight.plus(cutting.weight); weight.fits(beside) {
					next = append(next, &combination{c.product * cutting.pieces, weight, cutting, c})
					if i == len(lists)-1 {
						most = c.product * cutting.pieces
						break // more pieces of the last axis are of no use
					}
				}
			}
		}
		combinations = unbeaten(next)
	}
	if len(combinations) == 0 {
		return nil
	}
	return combinations[0]
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
		c := cutting{len(cuts), p.heaviest(cuts), room}
		if n := len(list); n > 0 && list[n-1].pieces == c.pieces && c.weight.fits(list[n-1].weight) {
			list[n-1] = c
		} else {
			list = append(list, c)
		}
		room.both = c.weight.both - 1
	}
}

// unbeaten drops each combination that has as many requests as another and does not weigh less. The fewest requests come
// first.
func unbeaten(all []*combination) []*combination {
	slices.SortStableFunc(all, func(a, b *combination) int {
		return cmp.Or(cmp.Compare(a.product, b.product), cmp.Compare(a.weight.both, b.weight.both))
	})
	var kept []*combination
	lightest := size{unlimited, unlimited, unlimited}
	for _, c := range all {
		beaten := false
		if lightest.fits(c.weight) {
			for i := len(kept) - 1; i >= 0 && !beaten; i-- {
				beaten = kept[i].weight.fits(c.weight)
			}
		}
		if !beaten {
			kept, lightest = append(kept, c), lightest.least(c.weight)
		}
	}
	return kept
}
