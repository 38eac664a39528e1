package worker

import (
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// board is what the shared records say, as far as this worker has heard: gates of services and states of queries.
type board struct {
	mu      sync.Mutex // guards all below
	gates   map[string]*messages.Gate
	queries map[string]standing
	changed chan struct{} // closed and renewed with each change
}

type standing struct {
	run   int
	state messages.QueryState
	bound messages.Position // nothing behind it is begun; empty: there is no such bound
}

func newBoard() *board {
	return &board{gates: map[string]*messages.Gate{}, queries: map[string]standing{}, changed: make(chan struct{})}
}

func (b *board) gate(g *messages.Gate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.gates[g.Service]; have != nil && !have.Until.Before(g.Until) {
		return // the latest time stands, here as in the store
	}
	b.gates[g.Service] = g
	b.tell()
}

func (b *board) query(id string, q *messages.Query) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q == nil {
		b.queries[id] = standing{run: 1<<31 - 1, state: messages.Cancelled}
	} else {
		b.queries[id] = standing{run: q.Run, state: q.State, bound: q.Bound}
	}
	b.tell()
}

func (b *board) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// news is closed at the next change.
func (b *board) news() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// closed gives the service's gate when it is closed at now, else nil.
func (b *board) closed(service string, now time.Time) *messages.Gate {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.gates[service]; g != nil && now.Before(g.Until) {
		return g
	}
	return nil
}

// opened is when the service's gate was last opened; zero: it is closed at now, or never was.
func (b *board) opened(service string, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.gates[service]; g != nil && !now.Before(g.Until) {
		return g.Until
	}
	return time.Time{}
}

// standing says whether an item may be run. What the worker has not heard of may: the record's news may be slower than
// the item.
func (b *board) standing(item *messages.Item) messages.QueryState {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, known := b.queries[item.Query]
	if !known || s.run < item.Run {
		return messages.Running
	}
	if s.run > item.Run {
		return messages.Cancelled // the item is of an earlier run, whose items were taken back
	}
	if s.state == messages.Running && s.bound != "" && item.Position.Compare(s.bound) > 0 {
		return messages.Stopping // as far as this item goes
	}
	return s.state
}
