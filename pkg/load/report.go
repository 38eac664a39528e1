package load

import (
	"time"

	"github.com/braidhq/braid/pkg/timing"
)

// Report is what came of a run. It is a pure function of the run's record, its snapshot and its executions in the order in which they were stored.
// Durations in it are milliseconds.
type Report struct {
	V           int       `json:"v"`
	Run         string    `json:"run"`
	Profile     string    `json:"profile_id"`
	ProfileName string    `json:"profile_name"`
	Revision    int       `json:"profile_revision"`
	Environment string    `json:"environment"`
	Dashboard   string    `json:"dashboard"`
	Title       string    `json:"title,omitempty"`
	Owner       string    `json:"owner,omitempty"`
	State       State     `json:"state"`
	Ending      Ending    `json:"ending,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	StoppedBy   string    `json:"stopped_by,omitempty"`
	Created     time.Time `json:"created"`
	Started     time.Time `json:"started,omitzero"`
	Closed      time.Time `json:"closed,omitzero"`
	Ended       time.Time `json:"ended,omitzero"`

	Capacity    Terms   `json:"capacity"`
	Force       bool    `json:"request_force"`
	Seed        uint64  `json:"seed"`
	Theoretical string  `json:"theoretical_count"`
	Selected    int     `json:"selected"`
	ChartCount  int     `json:"charts"`
	ChartIDs    []int64 `json:"chart_ids"` // in the dashboard's order
	Selection   string  `json:"selection_hash"`
	Snapshot    string  `json:"snapshot"`
	Fingerprint string  `json:"blast_radius_fingerprint"`

	Total         int `json:"total"`
	NotDispatched int `json:"not_dispatched"`
	InFlight      int `json:"in_flight"` // admitted and without a record; 0 when the run has ended
	WarmUp        int `json:"warm_up"`   // recorded executions that are in no group below
	RequestsSent  int `json:"requests_sent"`
	Attempts      int `json:"attempts"` // records, those of second attempts included

	Overall     Group         `json:"overall"`
	ByChart     []Group       `json:"by_chart"`         // in the dashboard's order
	ByRole      []Group       `json:"by_role"`          // by name
	ByCache     []Group       `json:"by_cache_state"`   // successes alone
	ByBoth      []Group       `json:"by_chart_cache"`   // successes alone, by chart and cache state
	Groups      []Group       `json:"groups"`           // by chart, role, cache state and way; those without a cache state have the ones that did not succeed
	Kinds       []KindCount   `json:"kinds"`            // of failures and cancellations, the most frequent first
	Findings    []Finding     `json:"findings"`         //
	Diagnostics []Diagnostic  `json:"diagnostics"`      //
	Thresholds  []Judgement   `json:"thresholds"`       //
	Verdict     Verdict       `json:"verdict"`          //
	Breaker     BreakerStatus `json:"breaker"`          //
	Trip        *Trip         `json:"trip,omitempty"`   //
	Labels      []Label       `json:"labels,omitempty"` // of the profile, by name
}

// Label is one of a profile's labels.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Group is the numbers of some of a run's executions, those of the warm-up left out.
type Group struct {
	Chart  int64      `json:"chart,omitempty"` // 0: of all
	Name   string     `json:"name,omitempty"`  // of the chart
	Role   string     `json:"role,omitempty"`  // empty: of all, or, in Report.Groups and by role, of the environment's first
	Cache  CacheState `json:"cache_state,omitempty"`
	Async  bool       `json:"async,omitempty"`  // answered the asynchronous way, polling included
	States []CacheMix `json:"cache_states"`     // which successes the percentiles are over: hits and misses have no common median (LR-3.8)
	Repeat int        `json:"repeat,omitempty"` // of the successes, those that sent what an earlier one had sent

	Recorded    int          `json:"recorded"`
	Completed   int          `json:"completed"`
	Success     int          `json:"success"`
	Errors      int          `json:"errors"`
	Timeouts    int          `json:"timeouts"`
	Cancelled   int          `json:"cancelled"`
	NotStarted  int          `json:"not_started"`
	ErrorRate   *timing.Rate `json:"error_rate"` // nil: nothing completed
	TimeoutRate *timing.Rate `json:"timeout_rate"`

	Queue    Quantiles  `json:"queue_wait_ms"`
	Resource Quantiles  `json:"resource_wait_ms"`
	Upstream Quantiles  `json:"upstream_latency_ms"`
	EndToEnd Quantiles  `json:"end_to_end_ms"`
	Late     *Quantiles `json:"from_intended_ms,omitempty"` // with an arrival rate

	Rows      int64 `json:"rows"`
	BodyBytes int64 `json:"body_bytes"`
	WireBytes int64 `json:"wire_bytes"`
}

// CacheMix is how many of a group's successes had a cache state.
type CacheMix struct {
	State CacheState `json:"cache_state"`
	Count int        `json:"count"`
}

// Quantiles are nearest-rank percentiles over successes. Without samples all are nil.
type Quantiles struct {
	Samples int                  `json:"sample_count"`
	P50     *timing.Milliseconds `json:"p50"`
	P90     *timing.Milliseconds `json:"p90"`
	P95     *timing.Milliseconds `json:"p95"`
	P99     *timing.Milliseconds `json:"p99"`
}

// KindCount is how often something went wrong in one way.
type KindCount struct {
	Outcome Outcome `json:"outcome"`
	Kind    string  `json:"kind"`
	Count   int     `json:"count"`
}

// Judgement is a threshold and whether the run's numbers keep it.
type Judgement struct {
	Threshold
	Observed string `json:"observed,omitempty"` // decimal text; empty without samples
	Samples  int    `json:"sample_count"`
	Passed   bool   `json:"passed"`
	Reason   string `json:"reason,omitempty"` // why not
}

// Verdict is what the thresholds say of a run.
type Verdict string

// The verdicts. A run that tripped, failed its preflight or ended by trouble has failed, whatever its numbers are. One that was stopped has
// no verdict but by its thresholds.
const (
	Passed     Verdict = "passed"
	NotPassed  Verdict = "failed"
	NoVerdict  Verdict = "none"    // no thresholds
	NotYetOver Verdict = "pending" // it has not ended
)
