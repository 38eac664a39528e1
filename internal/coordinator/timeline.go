package coordinator

import (
	"math"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// sample is what one result tells of the course of a query.
type sample struct {
	at                    int64 // seconds since 1970; 0: it tells nothing
	requests, rows, bytes int64
	latency, wait         time.Duration // of a request, on average
}

// sampleOf reads a header. When it says that it was stored before the query was there, or is stored in the future, a worker's clock is
// wrong: one such would stretch all of the time that is shown.
func sampleOf(h *messages.ResultHeader, created, now time.Time) sample {
	at := h.Finished
	if at.IsZero() {
		return sample{}
	}
	if at.After(now) {
		at = now
	}
	if at.Before(created) {
		at = created
	}
	s := sample{at: at.Unix(), requests: int64(h.Requests), rows: h.Rows, bytes: h.Bytes}
	if h.Requests > 0 {
		s.latency, s.wait = h.Upstream/time.Duration(h.Requests), h.SlotWait/time.Duration(h.Requests)
	}
	return s
}

// mostMoments bounds a timeline: with more, two neighbours become one, and all are twice as wide.
const mostMoments = 1024

// timeline sums up samples in buckets of equal width. Their borders are whole multiples of it since 1970, so that the sums do not depend on
// the order in which samples come.
type timeline struct {
	width   int64 // seconds
	first   int64 // the number of the first bucket since 1970
	buckets []*moment
}

// moment is what came in one bucket.
type moment struct {
	chunks, requests, rows, bytes int64
	latency, wait                 histogram
}

func newTimeline() timeline { return timeline{width: 1} }

func (t *timeline) add(s sample)    { t.count(s, 1) }
func (t *timeline) remove(s sample) { t.count(s, -1) }

func (t *timeline) count(s sample, sign int64) {
	if s.at <= 0 {
		return
	}
	m := t.at(s.at)
	m.chunks += sign
	m.requests += sign * s.requests
	m.rows += sign * s.rows
	m.bytes += sign * s.bytes
	if weight := sign * min(s.requests, mostWeight); weight != 0 {
		m.latency.add(s.latency, weight)
		m.wait.add(s.wait, weight)
	}
}

// at finds or makes the bucket of a second.
func (t *timeline) at(second int64) *moment {
	if len(t.buckets) == 0 {
		t.first, t.buckets = second/t.width, []*moment{nil}
	}
	for {
		i := second/t.width - t.first
		low, high := min(i, 0), max(i, int64(len(t.buckets)-1))
		if high-low >= mostMoments {
			t.widen()
			continue
		}
		if i < 0 {
			t.buckets = append(make([]*moment, -i), t.buckets...)
			t.first += i
			i = 0
		}
		if i >= int64(len(t.buckets)) {
			t.buckets = append(t.buckets, make([]*moment, i+1-int64(len(t.buckets)))...)
		}
		if t.buckets[i] == nil {
			t.buckets[i] = &moment{}
		}
		return t.buckets[i]
	}
}

// widen makes buckets twice as wide.
func (t *timeline) widen() {
	first := t.first / 2
	wide := make([]*moment, (t.first+int64(len(t.buckets))-1)/2-first+1)
	for i, m := range t.buckets {
		at := (t.first+int64(i))/2 - first
		switch {
		case m == nil:
		case wide[at] == nil:
			wide[at] = m
		default:
			wide[at].merge(m)
		}
	}
	t.width, t.first, t.buckets = 2*t.width, first, wide
}

func (m *moment) merge(other *moment) {
	m.chunks += other.chunks
	m.requests += other.requests
	m.rows += other.rows
	m.bytes += other.bytes
	m.latency.merge(&other.latency)
	m.wait.merge(&other.wait)
}

// fill writes the timeline into a series of at most so many steps.
func (t *timeline) fill(s *messages.Series, points int) {
	buckets, first := t.buckets, t.first
	for len(buckets) > 0 && (buckets[0] == nil || buckets[0].chunks == 0) {
		buckets, first = buckets[1:], first+1
	}
	for n := len(buckets); n > 0 && (buckets[n-1] == nil || buckets[n-1].chunks == 0); n-- {
		buckets = buckets[:n-1]
	}
	each := max(1, (len(buckets)+points-1)/points)
	s.Step = time.Duration(t.width) * time.Duration(each) * time.Second
	if len(buckets) > 0 {
		s.Start = time.Unix(first*t.width, 0).UTC()
	}
	for len(buckets) > 0 {
		n := min(each, len(buckets))
		var step moment
		for _, m := range buckets[:n] {
			if m != nil {
				step.merge(m)
			}
		}
		buckets = buckets[n:]
		s.Chunks, s.Requests = append(s.Chunks, step.chunks), append(s.Requests, step.requests)
		s.Rows, s.Bytes = append(s.Rows, step.rows), append(s.Bytes, step.bytes)
		s.Median, s.P95 = append(s.Median, step.latency.quantile(0.5)), append(s.P95, step.latency.quantile(0.95))
		s.Wait = append(s.Wait, step.wait.quantile(0.5))
	}
}

// mostWeight bounds how much one chunk says of the time that requests take.
const mostWeight = 256

// Bounds of a histogram: durations from least to some 27 hours are told within 5 %.
const (
	least  = 10 * time.Microsecond
	growth = 1.1
	slots  = 245
)

// histogram counts durations in buckets, each of which reaches growth times as far as the one before it. The first one is of those
// below least, the last one of those above all others.
type histogram [slots]uint32

func (h *histogram) add(d time.Duration, n int64) {
	i := 0
	if d >= least {
		i = min(1+int(math.Log(float64(d)/float64(least))/math.Log(growth)), slots-1)
	}
	h[i] = uint32(int64(h[i]) + n) //nolint:gosec // a plan has at most 10 million chunks, and each counts mostWeight times at most
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// quantile gives milliseconds; nil when nothing was counted.
func (h *histogram) quantile(q float64) *float64 {
	var total, below uint64
	for _, n := range h {
		total += uint64(n)
	}
	if total == 0 {
		return nil
	}
	rank := max(uint64(math.Ceil(q*float64(total))), 1)
	for i, n := range h {
		if below += uint64(n); below < rank {
			continue
		}
		var ms float64
		if i > 0 {
			ms = float64(least) / float64(time.Millisecond) * math.Pow(growth, float64(i)-0.5)
		}
		ms = math.Round(ms*1000) / 1000
		return &ms
	}
	return nil
}
