package load

import (
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/braidhq/braid/pkg/breaker"
	"github.com/braidhq/braid/pkg/timing"
)

// window has the last completed executions, as many as the breaker looks at.
type window struct {
	limit int
	last  []completed // a ring once it is full
	next  int
}

type completed struct {
	outcome Outcome
	kind    string
	waits   timing.Waits
}

func (w *window) add(e *Execution) {
	c := completed{outcome: e.Outcome, kind: e.Kind, waits: e.Waits}
	if len(w.last) < w.limit {
		w.last = append(w.last, c)
		return
	}
	w.last[w.next] = c
	w.next = (w.next + 1) % w.limit
}

func (w *window) summary() timing.Summary {
	var s timing.Sampler
	for _, c := range w.last {
		if c.outcome == Success {
			s.Add(c.waits)
		}
	}
	return s.Summary()
}

// failures of the window, those of excluded kinds left out.
func (w *window) failures(excluded []string) int {
	n := 0
	for _, c := range w.last {
		if c.outcome == Timeout || c.outcome == Error && !slices.Contains(excluded, c.kind) {
			n++
		}
	}
	return n
}

// breakerStatus tells people how the breaker stands (LR-7.7).
func (f *Fold) breakerStatus() BreakerStatus {
	s := f.breaker.Status()
	status := BreakerStatus{State: string(s.State), Error: triggerStatus(s.Error), Latency: triggerStatus(s.Latency)}
	if f.trip != nil {
		for _, t := range f.trip.Triggers {
			if t.Metric == string(breaker.ErrorRate) {
				status.Error.Observed = t.Observed
			} else {
				status.Latency.Observed = t.Observed
			}
		}
	}
	if s.State != breaker.Armed {
		return status
	}
	if n := len(f.recent.last); n > 0 {
		status.Error.Observed = decimal(big.NewRat(int64(f.recent.failures(f.run.Profile.Breaker.Excluded)), int64(n)))
	}
	if p99 := f.recent.summary().Upstream.P99; p99 != nil && s.Latency.State == breaker.Armed {
		status.Latency.Observed = decimal(big.NewRat(int64(*p99), int64(time.Millisecond)))
	}
	return status
}

func triggerStatus(t breaker.Trigger) TriggerStatus {
	s := TriggerStatus{State: string(t.State), Reason: t.Reason, Warming: t.Warming}
	if t.Threshold != nil {
		s.Threshold = decimal(t.Threshold)
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
