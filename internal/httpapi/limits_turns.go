package httpapi

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turns shares out something that there is not enough of, by parts: requests at a time, or bytes. Of those who wait the one who has least is
// served first, nobody gets more than a quarter while others wait, and the last quarter is for those who have no more than theirs: so one caller, however often
// it asks, keeps nobody else out. Make one with newTurns; it is safe for concurrent use.
type turns struct {
	all, share int64

	mu      sync.Mutex // guards all below
	free    int64
	held    map[string]int64 // by party
	waiting []*turn
	parties map[string]int // how often each waits
}

// turn is one wait for a number of parts.
type turn struct {
	party string
	parts int64
	given chan struct{} // closed once it has them
}

func newTurns(all int64) *turns {
	return &turns{all: all, share: max(all/4, 1), free: all, held: map[string]int64{}, parties: map[string]int{}}
}

// take waits for parts, which done gives back. ok is false when they did not become free in time, or ctx ended before.
func (t *turns) take(ctx context.Context, party string, parts int64, wait time.Duration) (done func(), ok bool) {
	mine := &turn{party: party, parts: min(parts, t.all), given: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.parties[party]++
	t.serve()
	t.mu.Unlock()
	back := sync.OnceFunc(func() { t.giveBack(mine) })
	select {
	case <-mine.given:
		return back, true
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-mine.given:
		return back, true
	case <-timer.C:
	case <-ctx.Done():
	}
	if t.leave(mine) {
		return nil, false
	}
	return back, true // it came at the last moment
}

// serve gives to those who wait what they may have: first to whom has least, and among equals in order. mu is held.
func (t *turns) serve() {
	for {
		next := -1
		for i, w := range t.waiting {
			if t.may(w) && (next < 0 || t.held[w.party] < t.held[t.waiting[next].party]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := t.waiting[next]
		t.free -= w.parts
		t.held[w.party] += w.parts
		close(w.given)
		t.remove(next)
	}
}

func (t *turns) may(w *turn) bool {
	if w.parts > t.free {
		return false
	}
	own := t.held[w.party]
	if own == 0 || own+w.parts <= t.share {
		return true
	}
	othersWait := len(t.parties) > 1 // besides its own
	return !othersWait && t.free-w.parts >= t.share
}

// remove takes one out of those who wait. mu is held.
func (t *turns) remove(i int) {
	party := t.waiting[i].party
	if t.parties[party]--; t.parties[party] == 0 {
		delete(t.parties, party)
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
}

func (t *turns) giveBack(w *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free += w.parts
	if t.held[w.party] -= w.parts; t.held[w.party] == 0 {
		delete(t.held, w.party)
	}
	t.serve()
}

// leave tells whether the turn still waited, which it does no more.
func (t *turns) leave(w *turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting {
		if other == w {
			t.remove(i)
			t.serve() // who stood back for it need not any more
			return true
		}
	}
	return false
}
