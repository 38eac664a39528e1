package resume

import (
	"container/heap"

	"github.com/braidhq/braid/pkg/messages"
)

// queue is the children of split chunks that wait to be dispatched, the lowest position first. One that is taken out in
// between stays in the heap and is passed over when its turn comes.
type queue struct {
	heap    positions
	waiting map[messages.Position]struct{}
}

func newQueue() queue { return queue{waiting: map[messages.Position]struct{}{}} }

func (q *queue) add(p messages.Position) {
	if !q.has(p) {
		q.waiting[p] = struct{}{}
		heap.Push(&q.heap, p)
	}
}

func (q *queue) has(p messages.Position) bool {
	_, have := q.waiting[p]
	return have
}

func (q *queue) remove(p messages.Position) { delete(q.waiting, p) }

func (q *queue) len() int { return len(q.waiting) }

// lowest gives the first n; they stay in the queue.
func (q *queue) lowest(n int) []messages.Position {
	var first []messages.Position
	for len(first) < min(n, len(q.waiting)) {
		p, _ := heap.Pop(&q.heap).(messages.Position)
		// One that was taken out and came back stands in the heap twice.
		if q.has(p) && (len(first) == 0 || first[len(first)-1] != p) {
			first = append(first, p)
		}
	}
	for _, p := range first {
		heap.Push(&q.heap, p)
	}
	return first
}

// positions is a heap.Interface.
type positions []messages.Position

func (s positions) Len() int           { return len(s) }
func (s positions) Less(i, j int) bool { return s[i].Compare(s[j]) < 0 }
func (s positions) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push is heap.Interface's.
func (s *positions) Push(p any) { *s = append(*s, p.(messages.Position)) } //nolint:errcheck,forcetypeassert // nobody else pushes

// Pop is heap.Interface's.
func (s *positions) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
