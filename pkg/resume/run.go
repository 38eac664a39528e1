package resume

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// ClassAuth is the class of a failure that stops a run at once instead of draining what is queued.
const ClassAuth = "auth"

// Limits of a run.
type Limits struct {
	Window    int           // most positions with the workers or on the way to them
	DrainFor  time.Duration // longest wait, after a stop, for what is in flight
	QuotaWait time.Duration // assumed until the next try when an interruption for quota says no time
}

// Run is what is known of one run of a query. Not for concurrent use.
type Run struct {
	number      int
	total       int
	limits      Limits
	done        Completion // rows or empty
	failed      map[messages.Position]*messages.Failure
	outstanding map[messages.Position]struct{}
	cursor      int            // in the plan, behind the last position that was dispatched since its last rewind
	stop        *messages.Stop // the lowest interruption of this run
	stoppedAt   time.Time
	progress    messages.Progress
}

// NewRun begins run number of a query of total positions.
func NewRun(query string, number, total int, limits Limits) *Run {
	return &Run{
		number: number, total: total, limits: limits,
		failed:      map[messages.Position]*messages.Failure{},
		outstanding: map[messages.Position]struct{}{},
		progress:    messages.Progress{V: messages.Version, Query: query, Run: number},
	}
}

// Stopping tells the run that its record says Stopping already, because of stop: a coordinator before this one decided so.
func (r *Run) Stopping(stop *messages.Stop, now time.Time) {
	if r.stop == nil || stop != nil && precedes(stop, r.stop) {
		r.stop = stop
	}
	if r.stoppedAt.IsZero() {
		r.stoppedAt = now
	}
}

// Result takes in a stored result. It returns false when the result is a failure of an earlier run: then it is to be
// removed, and its position is pending again, even when this run has dispatched it: a worker that saw the failure did nothing.
func (r *Run) Result(h *messages.ResultHeader) (keep bool) {
	delete(r.outstanding, h.Position)
	if h.Outcome == messages.OutcomeFailed && h.Run < r.number {
		return false
	}
	if h.Outcome == messages.OutcomeFailed {
		if _, again := r.failed[h.Position]; again {
			return true
		}
		r.failed[h.Position] = h.Failure
	} else if !r.done.Add(h.Position) {
		return true
	}
	r.progress.Rows += h.Rows
	r.progress.Pages += int64(h.Pages)
	r.progress.Requests += int64(h.Requests)
	r.progress.Bytes += h.Bytes
	return true
}

// Interruption takes in an interruption; those of earlier runs only count their requests.
func (r *Run) Interruption(m *messages.Interruption, now time.Time) {
	r.progress.Requests += int64(m.Requests)
	if m.Run != r.number {
		return
	}
	delete(r.outstanding, m.Position)
	if m.Kind == messages.HandedBack {
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

// precedes orders interruptions: quota before service, since it alone names a time; then the lowest position.
func precedes(a, b *messages.Stop) bool {
	if a.Kind != b.Kind {
		return a.Kind == string(messages.QuotaExhausted)
	}
	return a.Position.Compare(b.Position) < 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Lost tells the run that a position's result is gone.
func (r *Run) Lost(p messages.Position) {
	r.done.Remove(p)
	delete(r.failed, p)
}

// Dispatched tells the run that p was queued.
func (r *Run) Dispatched(p messages.Position) {
	r.cursor = max(r.cursor, p.Index()+1)
	if !r.Decided(p) {
		r.outstanding[p] = struct{}{}
	}
}

// undecided counts the positions before index that have no result and are not outstanding: those behind the cursor, which
// are dispatched again only after a rewind, and those still ahead of it.
func (r *Run) undecided(index int) (behind, ahead int) {
	turn := min(r.cursor, index)
	behind, ahead = turn-r.done.Before(turn), index-turn-(r.done.Before(index)-r.done.Before(turn))
	for p := range r.outstanding { // all of them behind the cursor: the run rewinds only when there are none
		if p.Index() < index {
			behind--
		}
	}
	return behind, ahead
}

// Decided tells whether p has a result or a failure.
func (r *Run) Decided(p messages.Position) bool {
	_, failed := r.failed[p]
	return failed || r.done.Has(p)
}

// Outstanding tells whether p was dispatched and has not come back.
func (r *Run) Outstanding(p messages.Position) bool {
	_, out := r.outstanding[p]
	return out
}

// Progress is how far the run is.
func (r *Run) Progress(now time.Time) *messages.Progress {
	p := r.progress
	p.Completed, p.Failed, p.Waiting, p.Updated = r.done.Roots(), len(r.failed), len(r.outstanding), now
	return &p
}
