package resume

import (
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// mostTaken bounds how many interruptions are remembered. A second copy of one is stored soon after the first, before many others.
const mostTaken = 4096

// taken remembers the last interruptions that were taken in: a worker that does not hear whether one is stored stores it again,
// and the stream knows it again only for minutes. The zero value is ready.
type taken struct {
	known map[told]struct{}
	order []told // a ring, the oldest at next
	next  int
}

// told tells interruptions apart: one worker tells of one delivery once.
type told struct {
	run            int
	position       messages.Position
	worker         string
	dispatched, at time.Time
}

// before tells whether m was taken in before, and remembers it. Of those that do not say of which item they are nothing is known.
func (t *taken) before(m *messages.Interruption) bool {
	if m.Dispatched.IsZero() {
		return false
	}
	key := told{m.Run, m.Position, m.Worker, m.Dispatched.UTC().Round(0), m.At.UTC().Round(0)}
	if _, known := t.known[key]; known {
		return true
	}
	if t.known == nil {
		t.known = map[told]struct{}{}
	}
	t.known[key] = struct{}{}
	if len(t.order) < mostTaken {
		t.order = append(t.order, key)
		return false
	}
	delete(t.known, t.order[t.next])
	t.order[t.next] = key
	t.next = (t.next + 1) % mostTaken
	return false
}
