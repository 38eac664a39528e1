package feed

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// Source is where the hub learns of changes.
type Source interface {
	// WatchStandings calls on with the record and the progress of each query, each by itself, and with each change of either; with
	// neither when the query is gone. Revisions ascend, over all queries. caughtUp is called once, when all that existed at the start has
	// been seen. It returns when ctx ends, or when the watch is lost.
	WatchStandings(ctx context.Context, on func(id string, q *messages.Query, p *messages.Progress, revision uint64), caughtUp func()) error
}

// Gap is the least time between two events of one query: a little more than a quarter of a second, so that nobody counts more than
// four in a second, whatever the network does.
const Gap = 260 * time.Millisecond

// Where many read, each event is written many times: progress keeps a greater distance then, so that all readers together are sent about
// five hundred events a second, and the work that they follow does not suffer. Changes of a state or a run keep to Gap.
const (
	gapPerReader = 2 * time.Millisecond
	maxGap       = 2 * time.Second
)

const (
	maxRecent  = 64       // events that are remembered of one query
	maxEvents  = 8192     // of all together
	maxBytes   = 16 << 20 // of them, roughly
	maxRemoved = 1024     // queries that are gone, of which that is remembered
	maxWaiting = 32       // statuses of one query that wait for their turn; all of them are of other states or runs
	watchAgain = time.Second
)

// Hub knows how all queries stand, and tells its readers. Make one with New.
type Hub struct {
	source Source
	log    *slog.Logger
	caught chan struct{} // closed when all has been seen for the first time
	wake   chan struct{} // holds one: somebody waits for the pace
	over   chan struct{} // closed when the hub lets its readers go

	mu        sync.Mutex // guards all below
	queries   map[string]*standing
	removed   []string // queries that are gone, the first to be forgotten first
	events    []*Event // the last ones of all queries; their numbers have no gaps
	bytes     int64    // of them
	number    uint64   // of the last event
	newest    uint64   // revision that was seen
	forgotten uint64   // the highest revision of an event that is remembered no more
	waiting   map[*standing]struct{}
	readers   map[*Subscription]struct{} // of all queries
	reading   int                        // subscriptions, these and those of one query
	isCaught  bool
	closed    bool
}

// New makes a hub that knows nothing before it runs. A nil log drops what there is to say.
func New(source Source, log *slog.Logger) *Hub {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Hub{
		source: source, log: log, caught: make(chan struct{}), wake: make(chan struct{}, 1),
		over: make(chan struct{}), queries: map[string]*standing{},
		waiting: map[*standing]struct{}{}, readers: map[*Subscription]struct{}{},
	}
}

// Run watches until ctx ends, and begins anew when the watch is lost: what changed meanwhile is told then. Then it lets all readers go.
// It is called once.
func (h *Hub) Run(ctx context.Context) {
	var pacing sync.WaitGroup
	pacing.Go(func() { h.pace(ctx) })
	defer pacing.Wait()
	defer h.close()
	for ctx.Err() == nil {
		r := &round{hub: h, known: map[string]*news{}}
		err := h.source.WatchStandings(ctx, r.take, r.end)
		if ctx.Err() != nil {
			return
		}
		h.log.Warn("the watch of the queries is lost; watching again", "error", err)
		again := time.NewTimer(watchAgain)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
		}
	}
}

// Ready is closed when the hub has seen all queries.
func (h *Hub) Ready() <-chan struct{} { return h.caught }

func (h *Hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	close(h.over)
	for r := range h.readers {
		r.notify()
	}
	for _, s := range h.queries {
		s.notify()
	}
}

// pace emits what waits when its time has come.
func (h *Hub) pace(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-timer.C:
		}
		if next, ok := h.emitDue(time.Now()); ok {
			timer.Reset(next)
		}
	}
}

// emitDue emits what is due, and tells in how long the next will be.
func (h *Hub) emitDue(now time.Time) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var next time.Time
	for _, s := range h.inTurn() {
		if !h.due(s, s.pending[0]).After(now) {
			h.emitFirst(s, now)
		}
		if len(s.pending) == 0 {
			continue
		}
		if due := h.due(s, s.pending[0]); next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return next.Sub(now), !next.IsZero()
}

// due is when it is an event's turn, as the next of its query.
func (h *Hub) due(s *standing, e *Event) time.Time {
	gap := Gap
	if !e.kept && !e.settled {
		gap = min(max(gap, time.Duration(h.reading)*gapPerReader), maxGap)
	}
	return s.told.Add(gap)
}

// emitFirst emits the oldest status that waits of a query.
func (h *Hub) emitFirst(s *standing, now time.Time) {
	e := s.pending[0]
	if s.pending = s.pending[1:]; len(s.pending) == 0 {
		s.pending = nil
		delete(h.waiting, s)
	}
	h.emit(s, e, now)
}

// emit makes an event known. What waits of its query is newer.
func (h *Hub) emit(s *standing, e *Event, now time.Time) {
	h.number++
	e.number, e.through = h.number, h.newest
	for other := range h.waiting {
		e.through = min(e.through, other.pending[0].revision-1)
	}
	s.told = now
	s.latest = e
	s.remember(e)
	h.remember(e)
	s.notify()
	for r := range h.readers {
		r.notify()
	}
	if e.Kind != Removed {
		return
	}
	h.removed = append(h.removed, s.id)
	if len(h.removed) > maxRemoved {
		oldest := h.removed[0]
		h.removed = h.removed[1:]
		h.drop(oldest)
	}
}

func (h *Hub) remember(e *Event) {
	h.events = append(h.events, e)
	h.bytes += e.size
	drop := 0
	for len(h.events)-drop > maxEvents || h.bytes > maxBytes && len(h.events)-drop > 1 {
		old := h.events[drop]
		h.bytes -= old.size
		h.forgotten = max(h.forgotten, old.revision)
		if s := h.queries[old.Query]; s != nil {
			s.forget(old)
		}
		drop++
	}
	if drop > 0 {
		clear(h.events[:drop])
		h.events = h.events[drop:]
	}
}

// push makes a status known now, or when it is its query's turn.
func (h *Hub) push(s *standing, e *Event) {
	now := time.Now()
	if len(s.pending) == 0 && !h.due(s, e).After(now) {
		h.emit(s, e, now)
		return
	}
	if last := len(s.pending) - 1; last >= 0 && !s.pending[last].kept {
		s.pending[last] = e
	} else {
		s.pending = append(s.pending, e)
	}
	h.waiting[s] = struct{}{}
	if len(s.pending) > maxWaiting { // rather too fast than lost
		h.emitFirst(s, now)
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}
