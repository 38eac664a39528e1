package load

import (
	"errors"
	"time"
)

// LookUp asks a worker what a dashboard consists of, and what depends on its data.
type LookUp struct {
	V           int       `json:"v"`
	ID          string    `json:"id"`
	Environment string    `json:"environment"`
	Definition  string    `json:"definition"` // SHA-256 of the pinned service definition
	Dashboard   string    `json:"dashboard"`
	Tab         string    `json:"tab,omitempty"`
	Charts      []int64   `json:"charts,omitempty"`
	Role        string    `json:"role,omitempty"` // that looks; empty: the first of the environment
	Expires     time.Time `json:"expires"`
}

// LookUpError is why a dashboard could not be looked up, in words for a person.
type LookUpError struct {
	Kind    string `json:"kind"` // of a failure, such as auth or not_found
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Error gives what to read.
func (e *LookUpError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// ErrElsewhere means that this worker does not serve the environment of an errand: it is left to others.
var ErrElsewhere = errors.New("the environment is not served here")
