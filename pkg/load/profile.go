package load

import (
	"encoding/json"
	"time"
)

// Profile says what is to be run. It is stored, and each change makes a new revision.
type Profile struct {
	V           int     `json:"v"`
	ID          string  `json:"id"`
	Revision    int     `json:"revision"`
	Name        string  `json:"name"`
	Environment string  `json:"environment"`      // the service
	Dashboard   string  `json:"dashboard"`        // id or slug
	Tab         string  `json:"tab,omitempty"`    // of one tab alone; empty: of all
	Charts      []int64 `json:"charts,omitempty"` // these alone, in the dashboard's order; none: all
	// Axes are the members of an object with the axes filters, viewport, role and time_range, each a list of values (LR-8.1).
	Axes json.RawMessage `json:"axes"`
	Cap  int             `json:"cap"` // variations at most; more are sampled (LR-8.5)
	Seed uint64          `json:"seed"`

	Concurrency int      `json:"concurrency"`         // requested capacity
	Stages      []Stage  `json:"stages,omitempty"`    // none: one, of Concurrency, to the end
	Arrival     *Arrival `json:"arrival,omitempty"`   // nil: the next begins when a place is free
	WarmUp      int      `json:"warm_up,omitempty"`   // executions at the start that are kept apart from all statistics
	Force       bool     `json:"force,omitempty"`     // rewrites the cache that everybody reads (LR-10.7)
	Preflight   bool     `json:"preflight,omitempty"` // one execution of each chart and role before all others; a failure ends the run

	Deadline   time.Duration     `json:"deadline_ns"` // of one request; 65 s
	Drain      time.Duration     `json:"drain_ns"`    // of what is in flight when intake closes; the deadline, at most 60 s
	Breaker    BreakerRules      `json:"breaker"`
	Thresholds []Threshold       `json:"thresholds,omitempty"`
	Sample     SampleBounds      `json:"sample"`
	Reference  string            `json:"reference,omitempty"` // a run to compare with: its p99 arms the breaker's latency
	Owner      string            `json:"owner,omitempty"`
	Team       string            `json:"team,omitempty"`
	Created    time.Time         `json:"created"`
	Updated    time.Time         `json:"updated"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// Stage is a part of a run with a concurrency of its own. It ends after so many executions or so much time, whichever is set; the last
// one may have neither, and lasts to the end.
type Stage struct {
	Concurrency int           `json:"concurrency"`
	Executions  int           `json:"executions,omitempty"`
	Lasts       time.Duration `json:"lasts_ns,omitempty"`
}

// Arrival has executions begin at a rate whatever the answers do.
type Arrival struct {
	PerSecond float64       `json:"per_second"`
	Patience  time.Duration `json:"patience_ns"` // one that has not begun so long after its time is not started, and counted as that
}

// BreakerRules set the breaker of a run (LR-7). Numbers are decimal texts: comparisons are exact.
type BreakerRules struct {
	Disabled     bool     `json:"disabled,omitempty"`
	Window       int      `json:"window"`                     // 100
	Minimum      int      `json:"minimum"`                    // 20
	ErrorRate    string   `json:"error_rate"`                 // 0.25
	Multiplier   string   `json:"multiplier"`                 // 3
	ReferenceP99 string   `json:"reference_p99_ms,omitempty"` // where no run is the reference
	AbsoluteP99  string   `json:"absolute_p99_ms,omitempty"`  //
	Excluded     []string `json:"excluded,omitempty"`         // kinds of failures that are counted apart (LR-7.9)
}

// SampleBounds bound what is kept of each answer's rows (LR-5.5).
type SampleBounds struct {
	Rows  int `json:"rows"`  // at most 100
	Bytes int `json:"bytes"` // at most 262,144
}

// Threshold is a demand on a run's numbers, such as p95 of upstream_latency_ms of chart 12 below 800.
type Threshold struct {
	Metric string `json:"metric"`          // upstream_latency_ms.p95, error_rate, timeout_rate, hit_rate, …
	Chart  int64  `json:"chart,omitempty"` // 0: all
	Role   string `json:"role,omitempty"`
	Cache  string `json:"cache,omitempty"` // a cache state
	Max    string `json:"max,omitempty"`   // decimal text; at or below passes
	Min    string `json:"min,omitempty"`   // at or above passes
}
