package load

import (
	"slices"
	"time"
)

// MaxPoints bounds a series: where a run lasts longer, its points are of longer steps.
const MaxPoints = 600

// Series is how a run went over its time, for plots. Executions that belong to the warm-up are in it, as they were load too.
type Series struct {
	Run    string        `json:"run"`
	From   time.Time     `json:"from"`    // when the run began
	Step   time.Duration `json:"step_ns"` // of one point: a second, or a power of two of them
	Points []Point       `json:"points"`  // without those in which nothing ended
}

// Point is what ended in one step.
type Point struct {
	At        time.Duration               `json:"at_ns"` // from the run's begin to that of the step
	Completed int                         `json:"completed"`
	Errors    int                         `json:"errors"`
	Timeouts  int                         `json:"timeouts"`
	Cancelled int                         `json:"cancelled"` // and what was not started
	Upstream  map[CacheState]PointLatency `json:"upstream_latency,omitempty"`
}

// PointLatency is of the successes of one cache state in one step.
type PointLatency struct {
	Samples int           `json:"sample_count"`
	P50     time.Duration `json:"p50_ns"`
	P95     time.Duration `json:"p95_ns"`
}

// SeriesFold makes a series of executions. Its memory is bounded by their number, at eight bytes for each success.
type SeriesFold struct {
	run    string
	from   time.Time
	step   time.Duration
	points map[int]*gathering
	last   int
}

type gathering struct {
	point   Point
	samples map[CacheState][]time.Duration
}

// NewSeries makes one without points. Of a run that has not begun, its time begins with its record.
func NewSeries(r *Run) *SeriesFold {
	from := r.Started
	if from.IsZero() {
		from = r.Created
	}
	return &SeriesFold{run: r.ID, from: from, step: time.Second, points: map[int]*gathering{}}
}

// Add takes in the record that counts for an execution. The order makes no difference.
func (s *SeriesFold) Add(e *Execution) {
	at := max(0, e.Finished.Sub(s.from))
	for at/s.step >= MaxPoints {
		s.widen()
	}
	g := s.at(int(at / s.step))
	switch e.Outcome {
	case Success:
		g.point.Completed++
		g.samples[e.Cache] = append(g.samples[e.Cache], e.Waits.Upstream)
	case Error:
		g.point.Completed++
		g.point.Errors++
	case Timeout:
		g.point.Completed++
		g.point.Timeouts++
	case Cancelled, NotStarted:
		g.point.Cancelled++
	}
}

func (s *SeriesFold) at(i int) *gathering {
	g := s.points[i]
	if g == nil {
		g = &gathering{samples: map[CacheState][]time.Duration{}}
		s.points[i], s.last = g, max(s.last, i)
	}
	return g
}

// widen doubles the step.
func (s *SeriesFold) widen() {
	narrow, last := s.points, s.last
	s.points, s.last, s.step = map[int]*gathering{}, 0, 2*s.step
	for i := range last + 1 {
		from := narrow[i]
		if from == nil {
			continue
		}
		to := s.at(i / 2)
		to.point.Completed += from.point.Completed
		to.point.Errors += from.point.Errors
		to.point.Timeouts += from.point.Timeouts
		to.point.Cancelled += from.point.Cancelled
		for state, samples := range from.samples {
			to.samples[state] = append(to.samples[state], samples...)
		}
	}
}

// Series gives what there is by now.
func (s *SeriesFold) Series() *Series {
	out := &Series{Run: s.run, From: s.from, Step: s.step, Points: []Point{}}
	for i := range s.last + 1 {
		g := s.points[i]
		if g == nil {
			continue
		}
		p := g.point
		p.At = time.Duration(i) * s.step
		for state, samples := range g.samples {
			if p.Upstream == nil {
				p.Upstream = map[CacheState]PointLatency{}
			}
			slices.Sort(samples)
			n := len(samples)
			p.Upstream[state] = PointLatency{Samples: n, P50: samples[(50*n+99)/100-1], P95: samples[(95*n+99)/100-1]}
		}
		out.Points = append(out.Points, p)
	}
	return out
}
