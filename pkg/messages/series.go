package messages

import "time"

// Series is how a query went over time, as the times in its results tell: each list has one number for each step.
type Series struct {
	V       int           `json:"v"`
	Query   string        `json:"query"`
	Start   time.Time     `json:"start,omitzero"` // of the first step
	Step    time.Duration `json:"step_ns"`
	Reading bool          `json:"reading,omitempty"` // what is stored is still being read

	Chunks   []int64    `json:"chunks"`
	Requests []int64    `json:"requests"`
	Rows     []int64    `json:"rows"`
	Bytes    []int64    `json:"bytes"`
	Median   []*float64 `json:"latency_p50_ms"` // of a request, in milliseconds; nil: there was none
	P95      []*float64 `json:"latency_p95_ms"`
	Wait     []*float64 `json:"slot_wait_p50_ms"` // before a request, for a slot
	// Interruptions are those of the query, the newest first, at most 100.
	Interruptions []*Interruption `json:"interruptions"`
}
