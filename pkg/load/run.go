package load

import (
	"time"

	"github.com/braidhq/braid/pkg/timing"
)

// State is where a run stands.
type State string

// The states of a run. Preparing to Draining are active: the leading coordinator works on them.
const (
	Preparing State = "preparing" // its items are queued, or its preflight runs
	Running   State = "running"
	Draining  State = "draining" // intake is closed; what is in flight ends
	Ended     State = "ended"
)

// Active tells whether a coordinator has work to do for the run.
func (s State) Active() bool { return s != Ended }

// Ending is why a run's intake closed.
type Ending string

// How runs end.
const (
	Completed       Ending = "completed"
	Stopped         Ending = "stopped" // somebody stopped it
	Tripped         Ending = "tripped" // by its breaker
	PreflightFailed Ending = "preflight_failed"
	Failed          Ending = "failed" // by Braid's own trouble, which Reason names
)

// Run is the record of a load run: what it was started with, pinned, and where it stands. It is changed by compare-and-set alone.
type Run struct {
	V           int       `json:"v"`
	ID          string    `json:"id"`
	Profile     Profile   `json:"profile"` // as it was at the start
	Environment string    `json:"environment"`
	Definition  string    `json:"definition"` // SHA-256 of the pinned service definition
	Snapshot    string    `json:"snapshot"`   // id
	Fingerprint string    `json:"blast_radius_fingerprint"`
	Selection   string    `json:"selection"` // hash
	Theoretical string    `json:"theoretical_count"`
	Selected    int       `json:"selected"`
	Charts      int       `json:"charts"`
	Total       int       `json:"total"` // executions: Selected × Charts
	Capacity    Terms     `json:"capacity"`
	GateHash    string    `json:"gate_hash,omitempty"`
	Approval    *Approval `json:"approval,omitempty"` // in PROD
	// ReferenceP99 is that of the upstream latency of the run that the profile names as its reference, as it was at the start. Nil: there is none.
	ReferenceP99 *time.Duration `json:"reference_p99_ns,omitempty"`
	State        State          `json:"state"`
	Stage        int            `json:"stage"` // index of the one that is under way
	Slots        int            `json:"slots"` // its concurrency now
	Ending       Ending         `json:"ending,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	StoppedBy    string         `json:"stopped_by,omitempty"`
	Trip         *Trip          `json:"trip,omitempty"`
	Owner        string         `json:"owner,omitempty"`
	Team         string         `json:"team,omitempty"`
	Created      time.Time      `json:"created"`
	Started      time.Time      `json:"started,omitzero"`
	Closed       time.Time      `json:"closed,omitzero"` // intake
	Ended        time.Time      `json:"ended,omitzero"`
	Updated      time.Time      `json:"updated"`

	StageSince time.Time `json:"stage_since,omitzero"`   // when the stage began
	StageFrom  int       `json:"stage_from,omitempty"`   // executions that had a record then
	Verdict    Verdict   `json:"verdict,omitempty"`      // when it has ended
	Key        string    `json:"key_sha256,omitempty"`   // of the key that it was started under
	Asked      string    `json:"asked_sha256,omitempty"` // of what was asked under it
}

// PlacesOf is the capacity of the environment's service that the places of a run are leased of.
func PlacesOf(run string) string { return "run-" + run }

// Trip is what the breaker saw when it tripped (LR-7.6).
type Trip struct {
	AtCompleted int       `json:"at_completed"`
	Completed   int       `json:"window_completed"`
	Failures    int       `json:"window_failures"`
	Successes   int       `json:"window_successes"`
	Triggers    []Trigger `json:"triggers"`
	At          time.Time `json:"at"`
}

// Trigger is one limit of the breaker that was reached.
type Trigger struct {
	Metric    string `json:"metric"` // error_rate or upstream_p99_ms
	Observed  string `json:"observed"`
	Threshold string `json:"threshold"`
}

// Progress is how a run goes, told at most four times a second, and always at its end (LR-6.4). It is a cache: the executions are the truth.
type Progress struct {
	V             int            `json:"v"`
	Run           string         `json:"run"`
	Total         int            `json:"total"`
	Recorded      int            `json:"recorded"` // executions with a record, of any outcome
	Success       int            `json:"success"`
	Errors        int            `json:"errors"`
	Timeouts      int            `json:"timeouts"`
	Cancelled     int            `json:"cancelled"`
	NotStarted    int            `json:"not_started"`    // by arrival rate
	NotDispatched int            `json:"not_dispatched"` // when intake closed
	InFlight      int            `json:"in_flight"`
	Lost          int            `json:"lost,omitempty"` // admitted, and in flight no more, as their worker is gone: they are sent again
	WarmUp        int            `json:"warm_up"`        // of the recorded ones: in the counts here, and in no time and no cache state
	RequestsSent  int            `json:"requests_sent"`
	Attempts      int            `json:"attempts"`
	Kinds         map[string]int `json:"kinds,omitempty"` // of failures
	CacheStates   map[string]int `json:"cache_states,omitempty"`
	Waits         timing.Summary `json:"waits"`
	Recent        timing.Summary `json:"recent"` // of the breaker's window
	Breaker       BreakerStatus  `json:"breaker"`
	Diagnostics   []Diagnostic   `json:"diagnostics,omitempty"`
	Updated       time.Time      `json:"updated"`
}

// BreakerStatus is how the breaker stands, for people (LR-7.7).
type BreakerStatus struct {
	State   string        `json:"state"` // inactive, armed or tripped
	Error   TriggerStatus `json:"error_rate"`
	Latency TriggerStatus `json:"latency"`
}

// TriggerStatus is how one trigger stands.
type TriggerStatus struct {
	State     string `json:"state"`
	Reason    string `json:"reason,omitempty"`
	Warming   bool   `json:"warming"` // below the minimum
	Observed  string `json:"observed,omitempty"`
	Threshold string `json:"threshold,omitempty"`
}

// Diagnostic is a word about the run's own health or about what its numbers may not be read as.
type Diagnostic struct {
	Code  string `json:"code"` // cache_backend_noop, reader_lag, small_sample_p99, filter_rejected, resource_timeout, queue_saturated, time_dependent, …
	Text  string `json:"text"`
	Count int    `json:"count,omitempty"`
	Chart int64  `json:"chart,omitempty"`
}
