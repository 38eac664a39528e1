package resume

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// ClassAuth is the class of a failure that stops a run at once instead of draining what is queued.
const ClassAuth = "auth"

// Limits of a run.
type Limits struct {
	Window    int                 // most positions with the workers or on the way to them; SetWindow changes it
	DrainFor  time.Duration       // longest wait, after a stop, for what is in flight
	QuotaWait time.Duration       // assumed until the next try when an interruption for quota says no time
	MaxRows   int64               // the run is complete with so many rows at the plan's beginning; 0: with all
	Finish    bool                // a failure does not keep what stands behind it from being run
	Only      []messages.Position // the run is of these, in any order, and of nothing else; none: of all. Not with MaxRows
	// Budgeted: no more than MaxRequests requests may be sent. What an item may send is its allowance; together they are never more
	// than what is left.
	Budgeted    bool
	MaxRequests int64
}

// Run is what is known of one run of a query. Not for concurrent use.
type Run struct {
	number      int
	total       int
	limits      Limits
	done        Completion
	failed      failures
	outstanding map[messages.Position]time.Time // with when the item was dispatched, as far as that is known
	children    queue                           // of split chunks, not dispatched since the last rewind
	cursor      int                             // in the plan, behind the last position that was dispatched since its last rewind
	first       *prefix                         // nil: all rows are wanted
	only        map[messages.Position]struct{}  // nil: the run is of all positions
	stop        *messages.Stop                  // the lowest interruption of this run
	tripped     *messages.Stop                  // of a breaker
	stoppedAt   time.Time
	progress    messages.Progress
	counts
	spent   int64                       // requests of this run, as far as items have come back
	allowed map[messages.Position]int64 // of items that have not
	taken   taken                       // interruptions
}

// NewRun begins run number of a query of total positions.
func NewRun(query string, number, total int, limits Limits) *Run {
	r := &Run{
		number: number, total: total, limits: limits,
		failed:      failures{at: map[messages.Position]*messages.Failure{}},
		outstanding: map[messages.Position]time.Time{},
		children:    newQueue(),
		counts:      counts{walks: map[string]*walked{}},
		allowed:     map[messages.Position]int64{},
		progress:    messages.Progress{V: messages.Version, Query: query, Run: number},
	}
	if limits.MaxRows > 0 {
		r.first = newPrefix()
	}
	if len(limits.Only) > 0 && r.first == nil {
		r.only = make(map[messages.Position]struct{}, len(limits.Only))
		for _, p := range limits.Only {
			r.only[p] = struct{}{}
		}
	}
	return r
}

// Stopping tells the run that its record says Stopping already, because of stop: a coordinator before this one decided so.
func (r *Run) Stopping(stop *messages.Stop, now time.Time) {
	switch {
	case stop != nil && stop.Kind == messages.StopBreaker:
		r.Trip(stop, now)
	case r.stop == nil || stop != nil && precedes(stop, r.stop):
		r.stop = stop
	}
	if r.stoppedAt.IsZero() {
		r.stoppedAt = now
	}
}

// Result takes in a stored result, in any order: that of a child may come before the word that its parent was split. It
// returns false when the result is a failure of an earlier run: then it is to be removed, and its position is pending
// again, even when this run has dispatched it: a worker that saw the failure did nothing.
func (r *Run) Result(h *messages.ResultHeader) (keep bool) {
	p := h.Position
	delete(r.outstanding, p)
	if h.Run == r.number {
		r.spent += int64(h.Sent)
		delete(r.allowed, p)
	}
	failure := h.Failure
	if _, _, ok := p.Children(); !ok && h.Outcome == messages.OutcomeSplit {
		failure = tooDeep()
	}
	if failure != nil && h.Run < r.number {
		r.progress.Requests += int64(h.Requests)
		r.progress.AtLeast = r.progress.AtLeast || h.Uncounted
		return false
	}
	var news bool
	switch {
	case failure != nil:
		news = !r.failed.has(p)
		r.failed.add(p, failure, r.done.Counts(p))
	case h.Outcome == messages.OutcomeSplit:
		news = r.done.Split(p)
		r.failed.remove(p)
		r.failed.stale = true // what came from the split counts now
		r.enqueueBelow(p)
	default:
		r.failed.stale = r.failed.stale || r.done.IsSplit(p)
		news = r.done.Add(p)
		r.failed.remove(p)
	}
	r.children.remove(p)
	if r.first != nil {
		r.first.take(h)
	}
	if news {
		r.progress.Rows += h.Rows
		r.progress.Pages += int64(h.Pages)
		r.progress.Requests += int64(h.Requests)
		r.progress.AtLeast = r.progress.AtLeast || h.Uncounted
		r.progress.Bytes += h.Bytes
		if h.Doubted {
			r.progress.Doubted++
		}
	}
	return true
}

// tooDeep is what a split becomes whose children would have no position.
func tooDeep() *messages.Failure {
	return &messages.Failure{
		Class: "too_large", Message: "the service refuses the chunk as too large, after all the splits that there can be",
		Hint: "ask for less in one request: raise max_chunks, or narrow the query",
	}
}

// enqueueBelow queues what is missing below p, as far as it is neither with the workers nor failed.
func (r *Run) enqueueBelow(p messages.Position) {
	for child := range r.done.MissingBelow(p) {
		if !r.Decided(child) && !r.Outstanding(child) && !r.belowFailure(child) && r.inScope(child) {
			r.children.add(child)
		}
	}
}

// Unsplittable tells that p, which is split, cannot be divided by this build: its children cannot be dispatched, and it
// counts as failed.
func (r *Run) Unsplittable(p messages.Position, failure *messages.Failure) {
	r.failed.add(p, failure, r.done.Counts(p))
	for child := range r.done.MissingBelow(p) {
		r.children.remove(child)
	}
}

// Interruption takes in an interruption; those of earlier runs only count their requests. One that is stored twice counts once, and one of
// an item that another has followed says nothing of the one that is out now.
func (r *Run) Interruption(m *messages.Interruption, now time.Time) {
	if r.taken.before(m) {
		return
	}
	r.progress.Requests += int64(m.Requests)
	if m.Run != r.number {
		return
	}
	r.spent += int64(m.Sent)
	if m.Dispatched.IsZero() || !m.Dispatched.Before(r.outstanding[m.Position]) {
		delete(r.outstanding, m.Position)
		delete(r.allowed, m.Position)
	}
	if m.Kind == messages.HandedBack || m.Kind == messages.AllowanceSpent {
		return
	}
	stop := &messages.Stop{Kind: string(m.Kind), Position: m.Position, Status: m.Status, Reason: m.Reason, Until: m.Until, At: m.At}
	if stop.Until.IsZero() && m.Kind == messages.QuotaExhausted {
		stop.Until = m.At.Add(r.limits.QuotaWait)
	}
	switch {
	case r.stop == nil:
		r.stop = stop
	case precedes(stop, r.stop):
		// The lowest position speaks, but going on before the latest time that was named would only be refused again.
		stop.Until = later(stop.Until, r.stop.Until)
		r.stop = stop
	default:
		kept := *r.stop // the one that was decided may be in a record by now
		kept.Until = later(stop.Until, kept.Until)
		r.stop = &kept
	}
	if r.stoppedAt.IsZero() {
		r.stoppedAt = now
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Lost tells the run that a position's result is gone: it is pending again, and whoever had its item is done with it. The children of a split that is lost count for nothing until their
// parent is split again, and then with the results that they have.
func (r *Run) Lost(p messages.Position) {
	for child := range r.done.MissingBelow(p) {
		r.children.remove(child)
	}
	r.failed.remove(p)
	r.failed.stale = r.failed.stale || r.done.IsSplit(p)
	r.done.Remove(p)
	delete(r.outstanding, p)
	delete(r.allowed, p)
	if r.first != nil {
		r.first.forget(p)
	}
}

// Dispatched tells the run that p was queued.
func (r *Run) Dispatched(p messages.Position) { r.DispatchedAt(p, time.Time{}) }

// DispatchedAt tells it too when the item was dispatched, which tells it from others of the same position.
func (r *Run) DispatchedAt(p messages.Position, at time.Time) {
	r.children.remove(p)
	if !p.IsChild() {
		r.cursor = max(r.cursor, p.Index()+1)
	}
	if !r.Decided(p) {
		r.outstanding[p] = at
	}
}

// undecided counts the positions below p, which is the lowest failure, that have no result and are not outstanding: those
// that are dispatched again only after a rewind, and those that are still to be, children and positions of the plan.
func (r *Run) undecided(p messages.Position) (behind, children, ahead int) {
	index := p.Index()
	turn := min(r.cursor, index)
	behind, ahead = turn-r.done.Before(turn), index-turn-(r.done.Before(index)-r.done.Before(turn))
	for out := range r.outstanding { // all of them behind the cursor: the run rewinds only when there are none
		if !out.IsChild() && out.Index() < index {
			behind--
		}
	}
	for child := range r.done.missing {
		switch {
		case child.Compare(p) >= 0 || r.Outstanding(child):
		case r.children.has(child):
			children++
		default:
			behind++
		}
	}
	return behind, children, ahead
}

// Decided tells whether p has a result or a failure.
func (r *Run) Decided(p messages.Position) bool {
	return r.failed.has(p) || r.done.of(p) != noResult
}

// Counts tells whether p is a position of the plan, or came from splits that are all known.
func (r *Run) Counts(p messages.Position) bool { return r.done.Counts(p) }

// Completion is what the run knows to be complete; it changes with the run.
func (r *Run) Completion() *Completion { return &r.done }

// Outstanding tells whether p was dispatched and has not come back.
func (r *Run) Outstanding(p messages.Position) bool {
	_, out := r.outstanding[p]
	return out
}

// Enough tells whether the rows that the query asks for are there.
func (r *Run) Enough() bool {
	if r.first == nil {
		return r.done.Roots() == r.total
	}
	r.first.advance(&r.done, r.total, r.limits.MaxRows)
	return r.first.rows >= r.limits.MaxRows || r.done.Roots() == r.total
}

// Progress is how far the run is.
func (r *Run) Progress(now time.Time) *messages.Progress {
	p := r.progress
	p.Completed, p.Split, p.Failed = r.done.Roots(), r.done.Splits(), len(r.failed.at)
	p.Waiting, p.Updated = len(r.outstanding), now
	p.Requests, p.RequestsGone = r.requests(), r.gone
	for _, w := range r.walks {
		if !w.ended && r.done.of(w.position) == noResult {
			p.KeptPages += w.pages
		}
	}
	return &p
}
