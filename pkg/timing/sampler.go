package timing

import (
	"slices"
	"time"
)

// Sampler keeps the waits of successful executions and summarises them at any time (LR-3.6, 3.7). It keeps 32 bytes for each. A new summary costs
// the sorting of what was added since the last one, and one pass over the rest. The zero Sampler is empty and ready. Not for concurrent use.
type Sampler struct {
	queue, resource, upstream, endToEnd samples
}

// Add takes one successful execution's waits. Errors and timeouts are never latencies (LR-3.5): do not add them.
func (s *Sampler) Add(w Waits) {
	s.queue.add(w.Queue)
	s.resource.add(w.Resource)
	s.upstream.add(w.Upstream)
	s.endToEnd.add(w.EndToEnd())
}

// Len is how many were added.
func (s *Sampler) Len() int { return len(s.upstream.all) }

// Summary gives the percentiles of all that was added.
func (s *Sampler) Summary() Summary {
	return Summary{
		Queue: s.queue.percentiles(), Resource: s.resource.percentiles(), Upstream: s.upstream.percentiles(), EndToEnd: s.endToEnd.percentiles(),
	}
}

// PercentilesOf gives the percentiles of values in any order; it sorts them in place.
func PercentilesOf(values []time.Duration) Percentiles {
	slices.Sort(values)
	return percentilesOf(values)
}

func percentilesOf(sorted []time.Duration) Percentiles {
	return Percentiles{
		Samples: len(sorted),
		P50:     atPercent(sorted, 50), P90: atPercent(sorted, 90), P95: atPercent(sorted, 95), P99: atPercent(sorted, 99),
	}
}

// samples are values of which the first ones are in order and the rest as they came.
type samples struct {
	all     []time.Duration
	ordered int
	spare   []time.Duration // room for merging
}

func (s *samples) add(d time.Duration) { s.all = append(s.all, d) }

func (s *samples) percentiles() Percentiles {
	s.order()
	return percentilesOf(s.all)
}

// order sorts the fresh values and merges them into the ordered ones from behind, so that what is greater than none of them stays where
// it is.
func (s *samples) order() {
	fresh := s.all[s.ordered:]
	slices.Sort(fresh)
	s.spare = append(s.spare[:0], fresh...)
	i, j := s.ordered-1, len(s.spare)-1
	for k := len(s.all) - 1; j >= 0; k-- {
		if i >= 0 && s.all[i] > s.spare[j] {
			s.all[k] = s.all[i]
			i--
			continue
		}
		s.all[k] = s.spare[j]
		j--
	}
	s.ordered = len(s.all)
}
