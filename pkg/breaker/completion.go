package breaker

import "time"

// Outcome is how an execution ended.
type Outcome uint8

// The outcomes.
const (
	Success Outcome = iota
	Error
	Timeout
	Cancelled // it did not complete: it is counted, and never enters the window
)

// Completion is one execution that has ended.
type Completion struct {
	Outcome Outcome
	Kind    string        // of an error: what Config.Excluded speaks of
	Latency time.Duration // upstream, of a success; without any time in a queue
}
