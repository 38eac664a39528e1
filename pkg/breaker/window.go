package breaker

import (
	"slices"
	"time"
)

// window is the last completions.
type window struct {
	ring     []entry // filled up to its capacity, then overwritten
	oldest   int
	failures int
	samples  []time.Duration // latencies of the successes, sorted; nil when nobody asks for them
	sampling bool
	success  int
}

type entry struct {
	how     role
	latency time.Duration
}

// role is what a completion is to the triggers.
type role uint8

const (
	succeeded role = iota
	failed
	apart // completed, and excluded from the failures
)

func newWindow(size int, sampling bool) window {
	return window{ring: make([]entry, 0, size), sampling: sampling}
}

func (w *window) add(e entry) {
	if len(w.ring) < cap(w.ring) {
		w.ring = append(w.ring, e)
	} else {
		w.drop(w.ring[w.oldest])
		w.ring[w.oldest] = e
		w.oldest = (w.oldest + 1) % len(w.ring)
	}
	switch e.how {
	case failed:
		w.failures++
	case succeeded:
		w.success++
		if w.sampling {
			at, _ := slices.BinarySearch(w.samples, e.latency)
			w.samples = slices.Insert(w.samples, at, e.latency)
		}
	case apart:
	}
}

func (w *window) drop(e entry) {
	switch e.how {
	case failed:
		w.failures--
	case succeeded:
		w.success--
		if w.sampling {
			at, _ := slices.BinarySearch(w.samples, e.latency)
			w.samples = slices.Delete(w.samples, at, at+1)
		}
	case apart:
	}
}

func (w *window) completed() int { return len(w.ring) }

// p99 is the 99th percentile of the samples by nearest rank, of which there must be one. Below 100 samples it is the largest.
func (w *window) p99() time.Duration {
	rank := (99*len(w.samples) + 99) / 100
	return w.samples[rank-1]
}
