package load

import "time"

// GateInputs are what an approval is bound to (LR-10.3).
type GateInputs struct {
	Profile     string `json:"profile_id"`
	Revision    int    `json:"profile_revision"`
	Effective   int    `json:"effective_capacity"`
	Estimated   int    `json:"estimated_requests"` // selected variations × charts
	Environment string `json:"environment_id"`
	Fingerprint string `json:"blast_radius_fingerprint"`
}

// Gate is what must be met before a run may start.
type Gate struct {
	Class         Class      `json:"class"`
	Inputs        GateInputs `json:"inputs"`
	Hash          string     `json:"gate_hash"`
	Needs         []string   `json:"needs"`          // permissions
	Approval      bool       `json:"approval"`       // an approval is needed
	RewritesCache bool       `json:"rewrites_cache"` // by force (LR-10.7)
}

// Approval lets one run start in PROD. It is used up by the start.
type Approval struct {
	V       int        `json:"v"`
	ID      string     `json:"id"`
	Hash    string     `json:"gate_hash"`
	Inputs  GateInputs `json:"inputs"`
	By      string     `json:"by"`
	Reason  string     `json:"reason"`
	At      time.Time  `json:"at"`
	Expires time.Time  `json:"expires"`
	UsedBy  string     `json:"used_by,omitempty"` // the run
}
