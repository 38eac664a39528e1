package breaker

import (
	"math/big"
	"slices"
	"time"
)

// Breaker watches completions. Not for concurrent use.
type Breaker struct {
	config    Config
	threshold *big.Rat // milliseconds of latency that trip; nil: none
	basis     Basis
	window    window
	trip      *Trip

	completed, after, cancelled, excluded int
}

// New makes a breaker that has seen nothing. The error wraps ErrConfig.
func New(config Config) (*Breaker, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	config.Excluded = slices.Clone(config.Excluded)
	b := &Breaker{config: config}
	b.threshold, b.basis = config.threshold()
	b.window = newWindow(config.Window, b.threshold != nil)
	return b, nil
}

// Add tells of the next completion, and returns whether it is the one that trips.
func (b *Breaker) Add(c Completion) (trips bool) {
	if c.Outcome == Cancelled {
		b.cancelled++
		return false
	}
	b.completed++
	e := entry{how: b.role(c), latency: c.Latency}
	if e.how == apart {
		b.excluded++
	}
	if b.trip != nil {
		b.after++
		return false
	}
	b.window.add(e)
	if b.config.Disabled {
		return false
	}
	if fired := b.evaluate(); len(fired) > 0 {
		b.trip = &Trip{
			AtCompleted: b.completed, Completed: b.window.completed(), Failures: b.window.failures, Successes: b.window.success,
			Excluded: b.window.completed() - b.window.failures - b.window.success, Fired: fired,
		}
	}
	return b.trip != nil
}

func (b *Breaker) role(c Completion) role {
	switch {
	case c.Outcome == Success:
		return succeeded
	case c.Outcome == Error && slices.Contains(b.config.Excluded, c.Kind):
		return apart
	}
	return failed
}

// evaluate lists the triggers that fire now, the error rate first.
func (b *Breaker) evaluate() []Fired {
	var fired []Fired
	w := &b.window
	if w.completed() >= b.config.Minimum {
		share := big.NewRat(int64(w.failures), int64(w.completed()))
		if share.Cmp(b.config.ErrorRate) >= 0 {
			fired = append(fired, Fired{
				Metric: ErrorRate, Share: Share{Failures: w.failures, Completed: w.completed()},
				Threshold: new(big.Rat).Set(b.config.ErrorRate),
			})
		}
	}
	if b.threshold != nil && w.success >= b.config.Minimum {
		if p99 := w.p99(); milliseconds(p99).Cmp(b.threshold) >= 0 {
			fired = append(fired, Fired{Metric: LatencyP99, Latency: p99, Threshold: new(big.Rat).Set(b.threshold)})
		}
	}
	return fired
}

func milliseconds(d time.Duration) *big.Rat { return big.NewRat(int64(d), int64(time.Millisecond)) }
