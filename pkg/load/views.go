package load

import (
	"time"
)

// Actor is who asks for something, and what they may do (LR-10.2). The desk checks it again at each start (LR-10.6).
type Actor struct {
	Name string
	Team string
	Run  bool // load:run
	Prod bool // load:prod
}

// StartRequest asks for a run of a profile.
type StartRequest struct {
	Profile  string `json:"profile"`
	Revision int    `json:"revision,omitempty"` // that the caller has seen; 0: whichever is the last
	// Fingerprint is that of what depends on the data, as the caller has seen it in the preview (LR-9.3).
	Fingerprint string `json:"fingerprint"`
	Approval    string `json:"approval,omitempty"` // id, in PROD; empty: the newest that fits and is not used
	Key         string `json:"-"`                  // what is started again under the same key of the same person is the run that there is; empty: a new one
}

// ApprovalRequest asks to let one run start in PROD.
type ApprovalRequest struct {
	Hash     string        `json:"gate_hash"` // of the gate that the person has seen
	Reason   string        `json:"reason"`
	ValidFor time.Duration `json:"valid_for_ns,omitempty"` // 0: an hour; at most a week
}

// RunStatus is a run with how it goes.
type RunStatus struct {
	Run      *Run      `json:"run"`
	Progress *Progress `json:"progress,omitempty"` // nil: none was told yet
}

// ExecutionFilter chooses executions of a run.
type ExecutionFilter struct {
	After   int     // numbers above this; -1: from the first on
	Limit   int     // at most so many; 0: 50
	Chart   int64   // 0: all
	Role    string  // empty: all
	Outcome Outcome // empty: all
}

// Matches tells whether an execution is one of those, After and Limit left aside.
func (f ExecutionFilter) Matches(e *Execution) bool {
	return (f.Chart == 0 || f.Chart == e.Chart) && (f.Role == "" || f.Role == e.Role) && (f.Outcome == "" || f.Outcome == e.Outcome)
}

// MaxExecutions bounds the limit of an ExecutionFilter.
const MaxExecutions = 200

// EnvironmentView is an environment as it may be shown.
type EnvironmentView struct {
	Name     string   `json:"name"`
	BaseURL  string   `json:"base_url"`
	Class    Class    `json:"class"`
	Stage    string   `json:"stage,omitempty"`
	Capacity Terms    `json:"capacity"` // of a run that asks for the ceiling
	Roles    []string `json:"roles"`
	Async    bool     `json:"async,omitempty"`
	Active   []string `json:"active"`            // runs
	Problem  string   `json:"problem,omitempty"` // why nothing can be run there
}
