package breaker

import (
	"math/big"
	"slices"
	"time"
)

// State of a breaker, and of each trigger.
type State string

// The states.
const (
	Inactive State = "inactive" // it can never trip, and the reason says why
	Armed    State = "armed"
	Tripped  State = "tripped"
)

// Why a trigger is inactive.
const (
	ReasonDisabled    = "disabled"
	ReasonNoReference = "no_reference" // neither a reference nor an absolute latency is given
)

// Basis says where the latency's threshold comes from.
type Basis string

// The bases. Where both give the same threshold, it is ByAbsolute.
const (
	ByReference Basis = "reference"
	ByAbsolute  Basis = "absolute"
)

// Metric is what a trigger looks at.
type Metric string

// The metrics.
const (
	ErrorRate  Metric = "error_rate"
	LatencyP99 Metric = "upstream_p99_ms"
)

// Status is how a breaker stands.
type Status struct {
	State        State
	IntakeClosed bool
	Error        Trigger
	Latency      Trigger
	Trip         *Trip // nil: it has not tripped
	Completed    int   // in all, those after the trip included
	AfterTrip    int   // of these, those that were counted and not looked at
	Cancelled    int   // not completed
	Excluded     int   // of the completed, failures of excluded kinds
}

// Trigger is how one trigger stands.
type Trigger struct {
	State     State
	Reason    string   // of an inactive one
	Warming   bool     // armed, with fewer completions in the window than the minimum
	Threshold *big.Rat // a share for the errors, milliseconds for the latency; nil: none, as of an inactive one
	Basis     Basis    // of the latency's threshold
}

// Trip is what tripped a breaker: its window at that moment.
type Trip struct {
	AtCompleted int // the completion that tripped it, 1 for the first
	Completed   int // in the window; the sum of the next three
	Failures    int
	Successes   int
	Excluded    int
	Fired       []Fired // the error rate first
}

// Fired is one trigger that fired.
type Fired struct {
	Metric    Metric
	Share     Share         // of ErrorRate
	Latency   time.Duration // of LatencyP99
	Threshold *big.Rat      // a share, or milliseconds
}

// Share is how many of a window failed.
type Share struct{ Failures, Completed int }

// Trip is what tripped the breaker, nil when nothing has. The caller may keep and change it.
func (b *Breaker) Trip() *Trip {
	if b.trip == nil {
		return nil
	}
	trip := *b.trip
	trip.Fired = slices.Clone(trip.Fired)
	for i := range trip.Fired {
		trip.Fired[i].Threshold = new(big.Rat).Set(trip.Fired[i].Threshold)
	}
	return &trip
}

// Status is how the breaker stands now.
func (b *Breaker) Status() Status {
	s := Status{
		State: Armed, IntakeClosed: b.trip != nil, Trip: b.Trip(), Completed: b.completed, AfterTrip: b.after,
		Cancelled: b.cancelled, Excluded: b.excluded,
		Error:   Trigger{State: Armed, Threshold: new(big.Rat).Set(b.config.ErrorRate)},
		Latency: Trigger{State: Armed, Basis: b.basis},
	}
	if b.threshold != nil {
		s.Latency.Threshold = new(big.Rat).Set(b.threshold)
	} else {
		s.Latency.State, s.Latency.Reason = Inactive, ReasonNoReference
	}
	switch {
	case b.config.Disabled:
		s.State = Inactive
		s.Error = Trigger{State: Inactive, Reason: ReasonDisabled}
		s.Latency = Trigger{State: Inactive, Reason: ReasonDisabled}
	case b.trip != nil:
		s.State = Tripped
		for _, fired := range b.trip.Fired {
			if fired.Metric == ErrorRate {
				s.Error.State = Tripped
			} else {
				s.Latency.State = Tripped
			}
		}
	default:
		s.Error.Warming = b.window.completed() < b.config.Minimum
		s.Latency.Warming = s.Latency.State == Armed && b.window.success < b.config.Minimum
	}
	return s
}
