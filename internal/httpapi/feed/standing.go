package feed

import (
	"cmp"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// standing is what the hub knows of one query. A query that readers wait for, and of which nothing was seen yet, has one too.
type standing struct {
	id       string
	query    *messages.Query // nil: gone, or not seen yet
	progress *messages.Progress
	revision struct{ record, progress uint64 }

	latest  *Event    // nil: nothing was told yet
	end     *Event    // the one that goes with latest; nil: nobody was told it
	recent  []*Event  // the last ones, with the latest, in their order
	pending []*Event  // what waits for its turn; all but the last are kept
	told    time.Time // when the last event was
	readers map[*Subscription]struct{}
}

func (h *Hub) standingOf(id string) *standing {
	s := h.queries[id]
	if s == nil {
		s = &standing{id: id, readers: map[*Subscription]struct{}{}}
		h.queries[id] = s
	}
	return s
}

// inTurn gives the queries with something that waits, those whose change is older first.
func (h *Hub) inTurn() []*standing {
	all := make([]*standing, 0, len(h.waiting))
	for s := range h.waiting {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *standing) int { return cmp.Compare(a.pending[0].revision, b.pending[0].revision) })
	return all
}

func (s *standing) notify() {
	for r := range s.readers {
		r.notify()
	}
}

// remember keeps the last events of the query: those that must not be passed over longer than the others.
func (s *standing) remember(e *Event) {
	s.recent = append(s.recent, e)
	if len(s.recent) <= maxRecent {
		return
	}
	first := slices.IndexFunc(s.recent[:maxRecent], func(e *Event) bool { return !e.kept })
	s.recent = slices.Delete(s.recent, max(first, 0), max(first, 0)+1)
}

// forget drops an event, but for the latest.
func (s *standing) forget(e *Event) {
	if i := slices.Index(s.recent, e); i >= 0 && e != s.latest {
		s.recent = slices.Delete(s.recent, i, i+1)
	}
}

// gone tells whether the query was there, and is no more.
func (s *standing) gone() bool { return s.latest != nil && s.latest.Kind == Removed }

// news is what a watch has shown of one query: a record and progress, or that it is gone, each with its revision.
type news struct {
	query    *messages.Query
	progress *messages.Progress
	record   uint64
	step     uint64 // of progress
	removed  uint64
}

// note takes in one change as the source tells it.
func (n *news) note(q *messages.Query, p *messages.Progress, revision uint64) {
	switch {
	case q != nil:
		n.query, n.record, n.removed = q, revision, 0
	case p != nil:
		n.progress, n.step = p, revision
	default:
		*n = news{removed: revision}
	}
}

// revision is that of the last change.
func (n *news) revision() uint64 { return max(n.record, n.step, n.removed) }

// change takes in what is new, and gives the event to tell of it; nil when there is nothing to tell.
func (s *standing) change(n *news) *Event {
	if n.removed > s.revision.record {
		s.query, s.progress = nil, nil
		s.revision.record = n.removed
		return removedEvent(s.id, n.removed)
	}
	before, changed := s.query, false
	if n.query != nil && n.record > s.revision.record {
		s.query, s.revision.record, changed = n.query, n.record, true
	}
	if n.progress != nil && n.step > s.revision.progress {
		s.progress, s.revision.progress, changed = n.progress, n.step, true
	}
	if !changed || s.query == nil {
		return nil
	}
	e := statusEvent(s.query, s.progress, max(s.revision.record, s.revision.progress))
	e.kept = before == nil || before.State != s.query.State || before.Run != s.query.Run
	return e
}
