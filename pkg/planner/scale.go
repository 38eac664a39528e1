package planner

import (
	"maps"

	"github.com/braidhq/braid/pkg/service"
)

// scale weighs the pieces of one axis: what a request takes more with a piece than with the first value of the axis, all
// else being equal. Each value is measured once, in a request as it is sent; from then on any piece is weighed by
// subtraction, and the weights of the pieces of several axes add up.
type scale struct {
	n         int
	url, body []int  // [i]: what the first i values add to a piece that holds them; nil: nothing
	ground    size   // what a piece weighs beside its values
	alone     []size // the weight of each value alone, where that is not the one of a piece of one value; else nil
	window    int    // the heaviest one, of a window axis
}

// weigh gives the weight of the piece of the values x to y-1.
func (s *scale) weigh(x, y int) size {
	if s.alone != nil && y-x == 1 {
		return s.alone[x]
	}
	url, body := s.ground.url, s.ground.body
	if s.url != nil {
		url += s.url[y] - s.url[x]
	}
	if s.body != nil {
		body += s.body[y] - s.body[x]
	}
	return sized(url, body)
}

// heaviest is the weight of the heaviest of pieces that end before the cuts.
func (s *scale) heaviest(cuts []int) size {
	heaviest, start := s.weigh(0, cuts[0]), cuts[0]
	for _, end := range cuts[1:] {
		heaviest, start = heaviest.most(s.weigh(start, end)), end
	}
	return heaviest
}

// heaviestPiece gives the piece of an axis that takes the most bytes.
func (s *scale) heaviestPiece(a *axis) int {
	if a.kind == service.AxisWindow {
		return s.window
	}
	best, most, start := 0, -unlimited, 0
	for i := range a.len() {
		end := start + 1
		if a.packs() {
			end = a.cuts[i]
		}
		if n := s.weigh(start, end).both; n > most {
			best, most = i, n
		}
		start = end
	}
	return best
}

// singles gives, of the values alone, the heaviest.
func (s *scale) singles() size {
	heaviest := s.weigh(0, 1)
	for i := 1; i < s.n; i++ {
		heaviest = heaviest.most(s.weigh(i, i+1))
	}
	return heaviest
}

// shortest gives, of the values alone, the least.
func (s *scale) shortest() size {
	least := s.weigh(0, 1)
	for i := 1; i < s.n; i++ {
		least = least.least(s.weigh(i, i+1))
	}
	return least
}

// floor is below the weight of every piece of every division.
func (s *scale) floor() size {
	least := s.weigh(0, 1)
	for i := range s.n {
		least = least.least(s.weigh(i, i+1))
		if s.alone != nil && i+2 <= s.n {
			least = least.least(s.weigh(i, i+2))
		}
	}
	return least
}

// bench measures requests: first is the one with the first value of each axis.
type bench struct {
	collection *service.Collection
	values     service.Values
	first      size
}

func newBench(c *service.Collection, g *grid) (*bench, error) {
	values := maps.Clone(g.fixed)
	for _, a := range g.axes {
		if a.kind == service.AxisWindow {
			values[a.param] = a.piece(0)
		} else {
			values[a.param] = a.values[:1:1]
		}
	}
	first, err := measure(c, values)
	return &bench{c, values, first}, err
}

// with measures the request in which one parameter has other values, as what it takes more.
func (b *bench) with(param string, values []string) (size, error) {
	before := b.values[param]
	b.values[param] = values
	more, err := measure(b.collection, b.values)
	b.values[param] = before
	return more.minus(b.first), err
}

// newScale measures the values of an axis. It finds out how the values of a list add up, whatever the list is written
// like: a value alone may travel differently, such as in the URL when several travel in the body.
func (b *bench) newScale(a *axis) (*scale, error) {
	if a.kind == service.AxisWindow {
		return b.newWindowScale(a)
	}
	s := &scale{n: len(a.values)}
	alone := make([]size, s.n)
	var err error
	for i := range a.values {
		if alone[i], err = b.with(a.param, a.values[i:i+1]); err != nil {
			return nil, err
		}
	}
	if a.kind == service.AxisEach {
		s.alone = alone
		return s, nil
	}
	v := a.values[0]
	two, err := b.with(a.param, []string{v, v})
	if err != nil {
		return nil, err
	}
	three, err := b.with(a.param, []string{v, v, v})
	if err != nil {
		return nil, err
	}
	// A list of n values takes ground + n steps of its values; the first value in it takes this step.
	step := three.minus(two)
	s.ground = two.minus(step).minus(step)
	if s.ground.plus(step) == alone[0] {
		s.accumulate(alone, s.ground)
		return s, nil
	}
	pairs := make([]size, s.n)
	for i := range a.values {
		if pairs[i], err = b.with(a.param, []string{v, a.values[i]}); err != nil {
			return nil, err
		}
	}
	s.alone = alone
	s.accumulate(pairs, s.ground.plus(step))
	return s, nil
}

// newWindowScale gives the heaviest window as the one value of its axis. Those between the ends are written in one form.
func (b *bench) newWindowScale(a *axis) (*scale, error) {
	s := &scale{n: 1}
	for _, i := range []int{0, 1, a.len() - 1} {
		weight, err := b.with(a.param, a.piece(i))
		if err != nil {
			return nil, err
		}
		if len(s.alone) == 0 || weight.both > s.alone[0].both {
			s.alone, s.window = []size{weight}, i
		}
	}
	return s, nil
}

// accumulate keeps what each value adds: its measure less what the request takes beside it.
func (s *scale) accumulate(measures []size, beside size) {
	for i, m := range measures {
		s.url = accumulated(s.url, i, m.url-beside.url, s.n)
		s.body = accumulated(s.body, i, m.body-beside.body, s.n)
	}
}

func accumulated(sums []int, i, adds, n int) []int {
	if sums == nil {
		if adds == 0 {
			return nil
		}
		sums = make([]int, n+1)
	}
	sums[i+1] = sums[i] + adds
	return sums
}
