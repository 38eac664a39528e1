// Package share divides what may be queued at a service between the queries that run there.
//
// The queue of a service is first come, first served, and knows nothing of queries. What a query gets of the service follows
// from how many of its items are outstanding, queued or in a worker's hands: by Little's law its items per second are that number
// divided by the time an item takes from being queued to its end, and the wait in the queue, which is most of it, is the same for all. So
// the windows of the queries are shares of one total, and shares of the windows are shares of the items begun in any time. An
// item whose chunk takes longer holds its slot longer: it is items that are shared, not seconds of slots.
//
// # Priority
//
// Priorities are strict. While a query has work that it could give out and its window does not hold it, those of lower
// priority get a window of nothing: what they have queued finishes, and nothing follows. They starve for as long as that lasts, which is
// what is asked for; weights are for sharing. Work that cannot be given out keeps nobody back: a query that stops, waits
// for quota, or has only its last items outstanding leaves the rest to the others.
//
// # How soon
//
// A query that joins has its share at once, beside what the others have queued. That stands before it in the queue, and is no more than
// Total(slots) items of whoever ran alone: about twice the time that a chunk takes with every slot in use. What is queued in all
// while the others' surplus drains is bounded by the total and the joiner's share, so twice the total for one that joins, and after n in a row by the total times 1 + 1/2 + … + 1/n.
package share

import (
	"cmp"
	"container/heap"
	"slices"
)

// Claim is what a query asks of the total.
type Claim struct {
	ID       string // unique among the claims; it breaks ties
	Priority int    // the highest goes first
	Weight   int    // at least 1; less counts as 1
	Demand   int    // how many items it could have outstanding, those that it has included
}

const leastTotal = 16

// Total is how many items of a service with so many slots may be outstanding: those in flight, and twice as many
// queued, so that no slot waits for a coordinator; a few more where slots are few, since an item may end sooner than the next is queued.
func Total(slots int) int { return max(leastTotal, 3*slots) }

// Windows divides total between claims and gives each one's window, in their order. All that is wanted is given out as far as
// total reaches: first by priority, then by weight, and what a claim does not want is the others'. A claim that competes with
// those of its own priority alone, and wants something, has a window of at least 1, even where that makes the sum exceed total.
func Windows(total int, claims []Claim) []int {
	order := make([]int, len(claims))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(claims[b].Priority, claims[a].Priority), cmp.Compare(claims[a].ID, claims[b].ID))
	})
	windows := make([]int, len(claims))
	left := max(total, 0)
	for start := 0; start < len(order) && left > 0; {
		end := start
		for end < len(order) && claims[order[end]].Priority == claims[order[start]].Priority {
			end++
		}
		left -= divide(left, order[start:end], claims, windows)
		start = end
	}
	return windows
}

// divide gives out left to the claims of one priority, and returns how much it gave out.
func divide(left int, members []int, claims []Claim, windows []int) (given int) {
	wanted := 0
	for _, i := range members {
		wanted += min(max(claims[i].Demand, 0), left)
	}
	if wanted <= left { // as most often: nobody's turn has to be waited for
		for _, i := range members {
			windows[i] = min(max(claims[i].Demand, 0), left)
		}
		return wanted
	}
	var due turns
	for _, i := range members {
		if claims[i].Demand > 0 {
			windows[i] = 1
			given++
			due = due.with(turn{i, 1, claims[i]})
		}
	}
	heap.Init(&due)
	for given < left && len(due) > 0 {
		next := due[0]
		windows[next.claim]++
		given++
		next.has++
		if due[0] = next; next.has < next.of.Demand {
			heap.Fix(&due, 0)
		} else {
			heap.Pop(&due)
		}
	}
	return given
}

// turn is a claim that has less than it wants.
type turn struct {
	claim int
	has   int
	of    Claim
}

// turns is a heap.Interface, the claim whose turn it is first. Webster's rule: a claim's turn comes when it has the least for its weight, half
// of the next item counted, which favours neither the light nor the heavy, and takes from nobody when there is more to give.
type turns []turn

func (t turns) with(next turn) turns {
	if next.has < next.of.Demand {
		return append(t, next)
	}
	return t
}

func (t turns) Len() int      { return len(t) }
func (t turns) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

func (t turns) Less(i, j int) bool {
	a, b := t[i], t[j]
	return cmp.Or(
		cmp.Compare((2*a.has+1)*max(1, b.of.Weight), (2*b.has+1)*max(1, a.of.Weight)),
		cmp.Compare(max(1, b.of.Weight), max(1, a.of.Weight)),
		cmp.Compare(a.of.ID, b.of.ID),
	) < 0
}

// Push is heap.Interface's.
func (t *turns) Push(x any) { *t = append(*t, x.(turn)) } //nolint:errcheck,forcetypeassert // nobody else pushes

// Pop is heap.Interface's.
func (t *turns) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
