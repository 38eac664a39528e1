package feed

import (
	"cmp"
	"slices"
)

// maxFirst bounds how many settled queries a reader of all of them is told of at the start.
const maxFirst = 1000

// Subscription is one reader's place. Close it after use. It is for one goroutine.
type Subscription struct {
	hub     *Hub
	query   *standing // nil: all queries
	mark    Mark
	signal  chan struct{} // holds one: there may be something to take
	placed  bool
	cursor  uint64   // number of the last event that was taken
	first   []*Event // to be taken before all others
	through uint64   // number up to which nothing is passed over: it is sent again
	over    bool
	closed  bool
}

// Query makes a reader of one query, whose whole id is given. It begins behind mark, or with how the query stands.
func (h *Hub) Query(id string, mark Mark) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading++
	r := &Subscription{hub: h, query: h.standingOf(id), mark: mark, signal: make(chan struct{}, 1)}
	r.query.readers[r] = struct{}{}
	r.place()
	return r
}

// All makes a reader of all queries. It begins behind mark, or with how those stand that have not settled, and the last ones that have.
func (h *Hub) All(mark Mark) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading++
	r := &Subscription{hub: h, mark: mark, signal: make(chan struct{}, 1)}
	h.readers[r] = struct{}{}
	r.place()
	return r
}

// Close lets the hub forget the reader.
func (r *Subscription) Close() {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	h.reading--
	if r.query == nil {
		delete(h.readers, r)
		return
	}
	delete(r.query.readers, r)
	if r.query.latest == nil || !slices.Contains(h.removed, r.query.id) {
		h.drop(r.query.id)
	}
}

// Changed has something when there may be something to take.
func (r *Subscription) Changed() <-chan struct{} { return r.signal }

// Stopped is closed when the hub lets its readers go.
func (r *Subscription) Stopped() <-chan struct{} { return r.hub.over }

func (r *Subscription) notify() {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// Place finds the reader's place. It tells whether that is known yet, and whether all was told already: that the query has settled or
// is gone, and the reader has seen the last event.
func (r *Subscription) Place() (known, over bool) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	return r.place(), r.over
}

// Take gives the events that have come, in order, without waiting. Of several of a query that have come together those are passed over
// that a newer one replaces. over tells that nothing comes any more.
func (r *Subscription) Take() (events []*Event, over bool) {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, true
	}
	if !r.place() {
		return nil, false
	}
	if r.over {
		return nil, true
	}
	if r.query != nil {
		events = r.newest(r.query.recent)
		return r.ended(events)
	}
	events = slices.Concat(r.first, r.newest(h.after(r.cursor)))
	r.first, r.cursor = nil, h.number
	return events, false
}

// ended adds the last event, when it is time for it.
func (r *Subscription) ended(events []*Event) ([]*Event, bool) {
	s := r.query
	if s.latest != nil {
		r.cursor = max(r.cursor, s.latest.number)
	}
	switch {
	case s.latest == nil || len(s.pending) > 0:
	case s.latest.Kind == Removed:
		r.over = true
	case s.latest.settled:
		r.over = true
		if s.end == nil || s.end.revision != s.latest.revision {
			s.end = endEvent(s.id, s.query.State, s.latest.revision)
		}
		events = append(events, s.end)
	}
	return events, r.over
}

// newest gives those behind the cursor, without such as are replaced by a newer one.
func (r *Subscription) newest(events []*Event) []*Event {
	var taken []*Event
	replaced := map[string]bool{}
	for _, e := range slices.Backward(events) {
		if e.number <= r.cursor {
			break
		}
		if e.kept || !replaced[e.Query] || e.number <= r.through {
			taken = append(taken, e)
		}
		replaced[e.Query] = true
	}
	slices.Reverse(taken)
	return taken
}

// place finds out where to begin, once that can be told.
func (r *Subscription) place() bool {
	switch {
	case r.placed:
	case !r.hub.isCaught:
	case r.query == nil:
		r.placeAmongAll()
	case r.query.latest != nil:
		r.placeAtQuery()
	}
	return r.placed
}

func (r *Subscription) placeAtQuery() {
	h, s := r.hub, r.query
	r.placed = true
	seen := r.mark.revision
	if seen == 0 || seen > h.newest {
		r.cursor = s.latest.number - 1
		return
	}
	r.cursor = s.latest.number
	for _, e := range slices.Backward(s.recent) {
		if e.revision <= seen {
			break
		}
		r.cursor, r.through = e.number-1, s.latest.number
	}
	settled := s.latest.settled && len(s.pending) == 0
	r.over = settled && r.mark.end && seen >= s.latest.revision
}

func (r *Subscription) placeAmongAll() {
	h := r.hub
	r.placed = true
	r.cursor, r.through = h.number, h.number
	seen := r.mark.revision
	switch {
	case seen == 0 || seen > h.newest:
		r.first = h.present()
	case seen >= h.forgotten:
		for _, e := range h.events {
			if e.revision > seen {
				r.first = append(r.first, e)
			}
		}
	default:
		r.first = h.latest(func(s *standing) bool { return s.latest.revision > seen })
	}
}

// present gives how the queries stand: those that have not settled, and as many of the others as are told at the start.
func (h *Hub) present() []*Event {
	all := h.latest(func(s *standing) bool { return !s.gone() })
	left := -maxFirst
	for _, e := range all {
		if e.settled {
			left++
		}
	}
	return slices.DeleteFunc(all, func(e *Event) bool {
		if !e.settled {
			return false
		}
		left--
		return left >= 0
	})
}

// after gives the events behind a number; where some of them are remembered no more, the latest of each query.
func (h *Hub) after(number uint64) []*Event {
	if len(h.events) == 0 || h.events[0].number > number+1 {
		return h.latest(func(s *standing) bool { return s.latest.number > number })
	}
	return h.events[min(int(number+1-h.events[0].number), len(h.events)):]
}

// latest gives the latest events of those queries that are wanted, in order.
func (h *Hub) latest(wanted func(*standing) bool) []*Event {
	var all []*Event
	for _, s := range h.queries {
		if s.latest != nil && wanted(s) {
			all = append(all, s.latest)
		}
	}
	slices.SortFunc(all, func(a, b *Event) int { return cmp.Compare(a.number, b.number) })
	return all
}
