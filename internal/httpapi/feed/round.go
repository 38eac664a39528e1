package feed

import (
	"cmp"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// round is one watch. What it shows first is how all queries stand; it is taken in at once, so that what is gone is missed.
type round struct {
	hub      *Hub
	known    map[string]*news // until all has been seen
	newest   uint64
	caughtUp bool
}

// take is called by the source.
func (r *round) take(id string, q *messages.Query, p *messages.Progress, revision uint64) {
	if !r.caughtUp {
		n := r.known[id]
		if n == nil {
			n = &news{}
			r.known[id] = n
		}
		n.note(q, p, revision)
		r.newest = max(r.newest, revision)
		return
	}
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	n := &news{}
	n.note(q, p, revision)
	h.newest = max(h.newest, revision)
	h.takeIn(id, n, h.push)
}

// end is called by the source when all that was there has been seen.
func (r *round) end() {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	r.caughtUp = true
	if r.newest < h.newest {
		h.startOver() // it is another store, or the last change of this one was a removal that nothing tells of any more
	}
	for id, s := range h.queries {
		if n := r.known[id]; s.query != nil && (n == nil || n.query == nil && n.removed == 0) {
			r.known[id] = &news{removed: max(r.newest, s.revision.record+1)}
		}
	}
	ids := make([]string, 0, len(r.known))
	for id := range r.known {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.known[a].revision(), r.known[b].revision()), cmp.Compare(a, b))
	})
	for _, id := range ids {
		n := r.known[id]
		h.newest = max(h.newest, n.revision())
		h.takeIn(id, n, func(s *standing, e *Event) {
			// What still waits goes first, and nothing waits longer: the store may have been away for long.
			now := time.Now()
			for len(s.pending) > 0 {
				h.emitFirst(s, now)
			}
			h.emit(s, e, now)
		})
	}
	r.known = nil
	if !h.isCaught {
		h.isCaught = true
		close(h.caught)
		for _, s := range h.queries {
			s.notify()
		}
		for reader := range h.readers {
			reader.notify()
		}
	}
}

// takeIn finds out what is new of a query, and tells of it.
func (h *Hub) takeIn(id string, n *news, tell func(*standing, *Event)) {
	s := h.standingOf(id)
	if e := s.change(n); e != nil {
		tell(s, e)
	}
}

// drop forgets a query that is gone, or was never there, unless somebody waits for it.
func (h *Hub) drop(id string) {
	s := h.queries[id]
	if s == nil || s.query != nil || len(s.readers) > 0 || len(s.pending) > 0 || s.progress != nil && s.latest == nil {
		return
	}
	delete(h.queries, id)
}

// startOver forgets all revisions: those that come now may be of another sequence. Whoever names an older event is told how things stand.
func (h *Hub) startOver() {
	h.forgotten, h.newest = h.newest, 0
	h.events, h.bytes = nil, 0
	for _, s := range h.queries {
		s.revision.record, s.revision.progress = 0, 0
		s.progress = nil
		if s.latest != nil {
			s.recent = []*Event{s.latest}
		}
	}
}
