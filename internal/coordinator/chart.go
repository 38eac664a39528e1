package coordinator

import (
	"slices"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// mark is what the result of a position is.
type mark uint8

const (
	unmarked mark = iota // there is none
	markDone
	markEmpty
	markSplit
	markFailed
	marks // how many there are
)

func (m mark) state() messages.ChunkState {
	return [marks]messages.ChunkState{messages.ChunkPending, messages.ChunkDone, messages.ChunkEmpty, messages.ChunkSplit, messages.ChunkFailed}[m]
}

// chart is where the positions of a query stand, in a byte for each of the plan, as the headers of the results tell. What is complete is
// resume.Completion's to say. Not for concurrent use.
type chart struct {
	chunks int // of the plan
	run    int // failures of earlier ones count no more
	done   resume.Completion
	roots  []root                     // the plan's positions, as far as there are results
	below  map[messages.Position]mark // of children, counted or not
	failed map[messages.Position]sample
	course timeline
	blurry bool // failures came that are not in failed: what they brought to the course stays there
}

// root is a position of the plan: the mark of its own result and, when it is split, what came of it, if that was asked for since it changed.
type root uint8

const ofSplit = 4 // bits to the left

func (r root) own() mark { return mark(r & (1<<ofSplit - 1)) }

// became gives what came of a split position; known is false when that is to be found out.
func (r root) became() (m mark, known bool) {
	if r.own() != markSplit {
		return r.own(), true
	}
	return mark(r>>ofSplit) - 1, r>>ofSplit > 0
}

func (r root) becoming(m mark) root { return root(r.own()) | root(m+1)<<ofSplit }

// mostFailed bounds how many failures a chart can take back from the course of a query.
const mostFailed = 1 << 16

func newChart(chunks, run int) *chart {
	return &chart{
		chunks: chunks, run: run, below: map[messages.Position]mark{}, failed: map[messages.Position]sample{}, course: newTimeline(),
	}
}

// take takes in a stored result, in any order. Of several for one position the last word stands.
func (c *chart) take(h *messages.ResultHeader, s sample) {
	if h.Position.Index() >= c.chunks {
		return
	}
	c.begin(h.Run)
	m := markOf(h)
	if m == markFailed && h.Run < c.run {
		c.forget(h.Position) // it is tried again
		return
	}
	c.set(h.Position, m)
	c.course.add(s)
	if m != markFailed {
		return
	}
	if len(c.failed) < mostFailed {
		c.failed[h.Position] = s
	} else {
		c.blurry = true
	}
}

func markOf(h *messages.ResultHeader) mark {
	switch h.Outcome {
	case messages.OutcomeRows:
		return markDone
	case messages.OutcomeEmpty:
		return markEmpty
	case messages.OutcomeSplit:
		if _, _, ok := h.Position.Children(); ok {
			return markSplit
		}
	case messages.OutcomeFailed:
	}
	return markFailed
}

// forget notes that a position has no result.
func (c *chart) forget(p messages.Position) {
	if p.Index() < c.chunks {
		c.set(p, unmarked)
	}
}

// begin takes in that there is a run of that number: the failures of those before it are tried again.
func (c *chart) begin(run int) {
	if run <= c.run {
		return
	}
	c.run = run
	for i, r := range c.roots {
		if r.own() == markFailed {
			c.forget(messages.PositionAt(i))
		}
	}
	for p, m := range c.below {
		if m == markFailed {
			c.forget(p)
		}
	}
}

func (c *chart) set(p messages.Position, m mark) {
	if s, had := c.failed[p]; had {
		c.course.remove(s)
		delete(c.failed, p)
	}
	switch m {
	case markDone, markEmpty:
		c.done.Add(p)
	case markSplit:
		c.done.Split(p)
	default:
		c.done.Remove(p)
	}
	i := p.Index()
	if p.IsChild() {
		if i < len(c.roots) {
			c.roots[i] = root(c.roots[i].own()) // what came of it is to be found out again
		}
		c.below[p] = m
		if m == unmarked {
			delete(c.below, p)
		}
		return
	}
	if i >= len(c.roots) {
		if m == unmarked {
			return
		}
		c.roots = append(c.roots, make([]root, i+1-len(c.roots))...)
	}
	c.roots[i] = root(m)
}

// own is what a position's own result is.
func (c *chart) own(p messages.Position) mark {
	if p.IsChild() {
		return c.below[p]
	}
	return c.root(p.Index())
}

func (c *chart) root(i int) mark {
	if i < len(c.roots) {
		return c.roots[i].own()
	}
	return unmarked
}

// of says where a position of the plan stands: one that is split is so until all below it is decided, and then what came of it.
func (c *chart) of(i int) mark {
	if i >= len(c.roots) {
		return unmarked
	}
	m, known := c.roots[i].became()
	if !known {
		m = c.outcome(messages.PositionAt(i))
		c.roots[i] = c.roots[i].becoming(m)
	}
	return m
}

func (c *chart) outcome(split messages.Position) mark {
	m := markEmpty
	for p := range c.done.MissingBelow(split) {
		if c.below[p] != markFailed {
			return markSplit
		}
		m = markFailed
	}
	if m == markFailed {
		return m
	}
	for p := range c.done.LeavesBelow(split) {
		if c.below[p] == markDone {
			return markDone
		}
	}
	return m
}

// count fills the bins of a grid. Those in flight are of spans, as far as they have no result.
func (c *chart) count(g *messages.Grid, spans []messages.Span) {
	lists := [marks][]int{markDone: g.Done, markEmpty: g.Empty, markSplit: g.Split, markFailed: g.Failed}
	for bin := range g.Done {
		from := g.From + bin*g.Width
		to := min(from+g.Width, g.To, len(c.roots))
		var counts [256]int
		for i := from; i < to; i++ {
			if c.roots[i] == root(markSplit) {
				c.of(i)
			}
			counts[c.roots[i]]++
		}
		for r, n := range &counts {
			if n == 0 {
				continue
			}
			if m, _ := root(r).became(); lists[m] != nil { //nolint:gosec // there are 256
				lists[m][bin] += n
			}
		}
	}
	for _, span := range spans {
		for i := max(span[0], g.From); i <= min(span[1], g.To-1); i++ {
			if c.root(i) == unmarked {
				g.InFlight[(i-g.From)/g.Width]++
			}
		}
	}
}

// listed is one position of a list.
type listed struct {
	position messages.Position
	mark     mark
	flying   bool
}

func (l listed) state() messages.ChunkState {
	if l.flying {
		return messages.ChunkInFlight
	}
	return l.mark.state()
}

// list gives up to limit positions that stand so, from a position on, in order: those of the plan and what they are split into, each
// as its own result says. An empty state is each.
func (c *chart) list(state messages.ChunkState, from messages.Position, limit int, spans []messages.Span) []listed {
	l := &lister{chart: c, state: state, from: from, limit: limit, spans: spans}
	for i := from.Index(); i < c.chunks && len(l.found) < limit; i++ {
		m := c.root(i)
		for len(l.spans) > 0 && l.spans[0][1] < i {
			l.spans = l.spans[1:]
		}
		l.out = len(l.spans) > 0 && l.spans[0][0] <= i
		switch {
		case m == markSplit && l.passes(c.of(i)):
		case m == markSplit:
			l.walk(messages.PositionAt(i))
		case l.wants(m):
			l.add(messages.PositionAt(i), m)
		}
	}
	return l.found
}

type lister struct {
	chart *chart
	state messages.ChunkState
	from  messages.Position
	limit int
	spans []messages.Span
	out   bool // items of the position of the plan are out
	found []listed
}

func (l *lister) wants(m mark) bool {
	return l.state == "" || l.state == listed{mark: m, flying: l.out && m == unmarked}.state()
}

// passes tells whether what came of a split position says that nothing below it is wanted.
func (l *lister) passes(became mark) bool {
	switch l.state {
	case messages.ChunkPending, messages.ChunkInFlight, messages.ChunkFailed:
		return became == markDone || became == markEmpty
	case messages.ChunkDone, messages.ChunkEmpty, messages.ChunkSplit:
	}
	return false
}

func (l *lister) add(p messages.Position, m mark) {
	if l.wants(m) && p.Compare(l.from) >= 0 && len(l.found) < l.limit {
		l.found = append(l.found, listed{p, m, l.out && m == unmarked})
	}
}

func (l *lister) walk(p messages.Position) {
	m := l.chart.own(p)
	l.add(p, m)
	if first, second, ok := p.Children(); ok && m == markSplit && len(l.found) < l.limit {
		l.walk(first)
		l.walk(second)
	}
}

// withRows gives up to limit positions that have rows, behind one, in the order of the table.
func (c *chart) withRows(behind messages.Position, limit int) []messages.Position {
	var found []messages.Position
	from := messages.PositionAt(0)
	if behind != "" {
		from = behind
	}
	for _, l := range c.list(messages.ChunkDone, from, limit+1, nil) {
		if l.position != behind {
			found = append(found, l.position)
		}
	}
	return found[:min(len(found), limit)]
}

// flies tells whether an item of a position of the plan is out.
func flies(spans []messages.Span, i int) bool {
	return slices.ContainsFunc(spans, func(s messages.Span) bool { return s[0] <= i && i <= s[1] })
}
