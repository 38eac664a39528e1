package planner

// load is what the requests of some axes take at most: those in which every axis sends what travels as a value alone does, and
// those in which some axis sends several values that travel otherwise. Each is nothing where there is no such request.
type load struct{ lone, company size }

// nothing is below every weight, and far from the overflow of sums.
func nothing() size { return size{-unlimited, -unlimited, -unlimited} }

// unloaded is the load of no axis.
func unloaded() load { return load{company: nothing()} }

// plus is the load of axes together with others.
func (l load) plus(o load) load {
	together := func(a, b size) size {
		if a == nothing() || b == nothing() {
			return nothing()
		}
		return a.plus(b)
	}
	return load{
		together(l.lone, o.lone),
		together(l.company, o.lone).most(together(l.lone, o.company)).most(together(l.company, o.company)),
	}
}

// fits tells whether each request has room, when several values take shared once more.
func (l load) fits(room, shared size) bool {
	return l.lone.fits(room) && l.company.plus(shared).fits(room)
}

// beats tells whether this load fits wherever the other one does.
func (l load) beats(o load) bool { return l.lone.fits(o.lone) && l.company.fits(o.company) }

// total is the largest of all requests.
func (l load) total() size { return l.lone.most(l.company) }

// load is that of the pieces of one axis that end before the cuts.
func (s *scale) load(cuts []int) load {
	if s.alone == nil {
		return load{s.heaviest(cuts), nothing()}
	}
	of, start := load{nothing(), nothing()}, 0
	for _, end := range cuts {
		if weight := s.weigh(start, end); end-start == 1 {
			of.lone = of.lone.most(weight)
		} else {
			of.company = of.company.most(weight)
		}
		start = end
	}
	return of
}
