package load

import (
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/timing"
)

// numbers are those of some of a run's executions.
type numbers struct {
	recorded, success, errors, timeouts, cancelled, notStarted, repeats int

	states                            map[CacheState]int // of the successes
	queue, resource, upstream, lateBy []time.Duration    // of the successes, in the order in which they came
	rows, bodyBytes, wireBytes        int64
}

func (n *numbers) completed() int { return n.success + n.errors + n.timeouts }

// add counts an execution and keeps the times of a success.
func (n *numbers) add(e *Execution) {
	n.tally(e)
	if e.Outcome != Success {
		return
	}
	n.queue = append(n.queue, e.Waits.Queue)
	n.resource = append(n.resource, e.Waits.Resource)
	n.upstream = append(n.upstream, e.Waits.Upstream)
	if e.Late != nil {
		n.lateBy = append(n.lateBy, *e.Late)
	}
}

// tally counts an execution.
func (n *numbers) tally(e *Execution) {
	n.recorded++
	n.rows += e.Rows
	n.bodyBytes += e.BodyBytes
	n.wireBytes += e.WireBytes
	switch e.Outcome {
	case Success:
		n.success++
		if n.states == nil {
			n.states = make(map[CacheState]int, 1)
		}
		n.states[e.Cache]++
		if e.RepeatOf != nil {
			n.repeats++
		}
	case Error:
		n.errors++
	case Timeout:
		n.timeouts++
	case NotStarted:
		n.notStarted++
	default:
		n.cancelled++
	}
}

// merge adds those of other.
func (n *numbers) merge(other *numbers) {
	n.recorded += other.recorded
	n.success += other.success
	n.errors += other.errors
	n.timeouts += other.timeouts
	n.cancelled += other.cancelled
	n.notStarted += other.notStarted
	n.repeats += other.repeats
	if n.states == nil {
		n.states = make(map[CacheState]int, len(other.states))
	}
	for state, count := range other.states {
		n.states[state] += count
	}
	n.queue = append(n.queue, other.queue...)
	n.resource = append(n.resource, other.resource...)
	n.upstream = append(n.upstream, other.upstream...)
	n.lateBy = append(n.lateBy, other.lateBy...)
	n.rows += other.rows
	n.bodyBytes += other.bodyBytes
	n.wireBytes += other.wireBytes
}

// values are the successes' values of a time metric, which the caller may change.
func (n *numbers) values(metric string) []time.Duration {
	switch metric {
	case "queue_wait_ms":
		return slices.Clone(n.queue)
	case "resource_wait_ms":
		return slices.Clone(n.resource)
	case "upstream_latency_ms":
		return slices.Clone(n.upstream)
	case "from_intended_ms":
		return slices.Clone(n.lateBy)
	case "end_to_end_ms":
		sums := make([]time.Duration, len(n.queue))
		for i := range sums {
			sums[i] = n.queue[i] + n.resource[i] + n.upstream[i]
		}
		return sums
	}
	return nil
}

func (n *numbers) quantiles(metric string) Quantiles {
	p := timing.PercentilesOf(n.values(metric))
	ms := func(d *time.Duration) *timing.Milliseconds { return (*timing.Milliseconds)(d) }
	return Quantiles{Samples: p.Samples, P50: ms(p.P50), P90: ms(p.P90), P95: ms(p.P95), P99: ms(p.P99)}
}

// fill sets a group's numbers.
func (n *numbers) fill(g *Group) {
	g.Recorded, g.Completed, g.Success, g.Errors, g.Timeouts = n.recorded, n.completed(), n.success, n.errors, n.timeouts
	g.Cancelled, g.NotStarted, g.Repeat = n.cancelled, n.notStarted, n.repeats
	g.ErrorRate, g.TimeoutRate = timing.RateOf(n.errors, n.completed()), timing.RateOf(n.timeouts, n.completed())
	g.Rows, g.BodyBytes, g.WireBytes = n.rows, n.bodyBytes, n.wireBytes
	g.States = []CacheMix{}
	for _, state := range append(cacheStates(), "") {
		if count := n.states[state]; count > 0 {
			g.States = append(g.States, CacheMix{State: state, Count: count})
		}
	}
	g.Queue, g.Resource = n.quantiles("queue_wait_ms"), n.quantiles("resource_wait_ms")
	g.Upstream, g.EndToEnd = n.quantiles("upstream_latency_ms"), n.quantiles("end_to_end_ms")
	if len(n.lateBy) > 0 {
		late := n.quantiles("from_intended_ms")
		g.Late = &late
	}
}
