package messages

import (
	"encoding/json"
	"fmt"
	"time"
)

// ClassSplit is the class of a chunk that is recorded as split and cannot be divided: it failed in no request, and none mends it.
const ClassSplit = "split"

// Failures lists the chunks of a query's present run that have failed.
type Failures struct {
	V        int           `json:"v"`
	Query    string        `json:"query"`
	State    QueryState    `json:"state"`
	Failures []FailedChunk `json:"failures"` // the lowest position first
}

// FailedChunk is one chunk that failed.
type FailedChunk struct {
	Position Position  `json:"position"`
	Class    string    `json:"class"`
	Status   int       `json:"status,omitempty"` // HTTP status, 0 when it was not the service that refused
	Message  string    `json:"message"`
	Hint     string    `json:"hint,omitempty"` // what a person can do
	Asks     string    `json:"asks,omitempty"` // the values that the chunk asks for
	Requests int       `json:"requests"`       // that the attempt sent which found it out
	Run      int       `json:"run"`
	Worker   string    `json:"worker"`
	At       time.Time `json:"at"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Failures) Validate() error {
	if err := firstError(checkVersion(m.V), field("query", CheckName(m.Query)), field("state", m.State.check())); err != nil {
		return err
	}
	for i, f := range m.Failures {
		failure := Failure{Class: f.Class, Status: f.Status, Message: f.Message, Hint: f.Hint}
		err := firstError(field("position", checkPosition(f.Position)), failure.Validate(), checkText("asks", f.Asks), checkCount("requests", int64(f.Requests)))
		if err != nil {
			return fmt.Errorf("failures[%d]: %w", i, err)
		}
	}
	return nil
}

// DecodeFailures reads what a coordinator answers.
func DecodeFailures(data []byte) (*Failures, error) {
	var m Failures
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("decode failures: %w", err)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("decode failures: %w", err)
	}
	return &m, nil
}
