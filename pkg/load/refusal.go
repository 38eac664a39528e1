package load

import "errors"

// What a caller decides by, beside *GateError.
var (
	// ErrInvalid reports a request that can never be carried out as it is.
	ErrInvalid = errors.New("invalid load request")
	// ErrState reports what is not possible in the run's present state.
	ErrState = errors.New("not possible in the run's present state")
	// ErrRepeated comes with the run that was started before under the same key.
	ErrRepeated = errors.New("it was started before under the same key")
	// ErrKeyReused reports a key under which something else was started.
	ErrKeyReused = errors.New("the key was used for another start")
	// ErrAmbiguous reports the beginning of an id that several runs have.
	ErrAmbiguous = errors.New("several runs match")
)

// Why a gate does not open.
const (
	GateNoPermission       = "no_permission"
	GateProfileChanged     = "profile_changed"        // it has another revision than the caller named
	GateNotLookedUp        = "not_looked_up"          // the dashboard of this revision was never looked up
	GateDependentsUnknown  = "dependents_unavailable" // the dashboard's dependents could not be read (LR-9.5)
	GateFingerprintChanged = "fingerprint_changed"    // what depends on the data is not what the caller has seen (LR-9.3)
	GateNoApproval         = "no_approval"
	GateStale              = "stale_gate" // the approval is of something else than what would run now
	GateApprovalExpired    = "approval_expired"
	GateApprovalUsed       = "approval_used"
)

// GateError is why nothing was started: no request was sent, no login and no metadata read among them (LR-10.4).
type GateError struct {
	Kind        string      `json:"kind"`
	Message     string      `json:"message"`
	Hint        string      `json:"hint,omitempty"`
	Revision    int         `json:"profile_revision,omitempty"` // as it is now
	GateHash    string      `json:"gate_hash,omitempty"`        // as it is now
	Fingerprint string      `json:"blast_radius_fingerprint,omitempty"`
	Added       []Dependent `json:"added,omitempty"`   // of what depends on the data, since the fingerprint that the caller named
	Removed     []Dependent `json:"removed,omitempty"` // likewise
	// Undiffed tells that nothing is known of the fingerprint that the caller named: Added is then all that depends on the data.
	Undiffed bool `json:"undiffed,omitempty"`
}

// Error gives what to read.
func (e *GateError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Diff lists what is in one report of dependents and not in another, both ways. Both are in the order of their reports.
func Diff(before, now []Dependent) (added, removed []Dependent) {
	without := func(all, those []Dependent) []Dependent {
		have := make(map[Dependent]struct{}, len(those))
		for _, d := range those {
			have[d] = struct{}{}
		}
		var left []Dependent
		for _, d := range all {
			if _, there := have[d]; !there {
				left = append(left, d)
			}
		}
		return left
	}
	return without(now, before), without(before, now)
}
