package load

import (
	"fmt"
	"math/big"
	"time"

	"github.com/braidhq/braid/pkg/breaker"
)

// config is that of the run's breaker. reference is the p99 of the run that is compared with; without one, the profile's own number is the
// reference (LR-7.4).
func (b *BreakerRules) config(reference *time.Duration) (breaker.Config, error) {
	c := breaker.Config{Disabled: b.Disabled, Window: b.Window, Minimum: b.Minimum, Excluded: b.Excluded}
	for _, d := range []struct {
		name, text string
		into       **big.Rat
	}{
		{"error_rate", b.ErrorRate, &c.ErrorRate},
		{"multiplier", b.Multiplier, &c.Multiplier},
		{"reference_p99_ms", b.ReferenceP99, &c.Reference},
		{"absolute_p99_ms", b.AbsoluteP99, &c.Absolute},
	} {
		if d.text == "" {
			continue
		}
		n, err := breaker.ParseDecimal(d.text)
		if err != nil {
			return c, fmt.Errorf("breaker's %s: %w", d.name, err)
		}
		*d.into = n
	}
	if reference != nil && *reference > 0 {
		c.Reference = big.NewRat(int64(*reference), int64(time.Millisecond))
	}
	if _, err := breaker.New(c); err != nil {
		return c, err
	}
	return c, nil
}

// completion is what the breaker is told of an execution.
func completion(e *Execution) breaker.Completion {
	c := breaker.Completion{Kind: e.Kind, Latency: e.Waits.Upstream}
	switch e.Outcome {
	case Success:
		c.Outcome = breaker.Success
	case Error:
		c.Outcome = breaker.Error
	case Timeout:
		c.Outcome = breaker.Timeout
	default:
		c.Outcome = breaker.Cancelled
	}
	return c
}

// decimal writes an exact number with at most six decimals.
func decimal(r *big.Rat) string {
	text := r.FloatString(6)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}

// tripOf tells a person what the breaker saw.
func tripOf(t *breaker.Trip, at time.Time) *Trip {
	trip := &Trip{AtCompleted: t.AtCompleted, Completed: t.Completed, Failures: t.Failures, Successes: t.Successes, At: at}
	for _, f := range t.Fired {
		trigger := Trigger{Metric: string(f.Metric), Threshold: decimal(f.Threshold)}
		if f.Metric == breaker.ErrorRate {
			trigger.Observed = decimal(big.NewRat(int64(f.Share.Failures), int64(f.Share.Completed)))
		} else {
			trigger.Observed = decimal(big.NewRat(int64(f.Latency), int64(time.Millisecond)))
		}
		trip.Triggers = append(trip.Triggers, trigger)
	}
	return trip
}
