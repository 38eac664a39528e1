package messages

import (
	"fmt"
	"time"
)

// MaxExecutions is the most executions in one message.
const MaxExecutions = 50

const maxExecutionsBytes = 64 << 10

// Execution records one request upstream, for the ledger and for people; nothing that is correct depends on it.
type Execution struct {
	Position Position      `json:"position"`
	Attempt  string        `json:"attempt"`
	Page     int           `json:"page"` // 0-based
	Try      int           `json:"try"`  // 1-based, of this page
	Class    string        `json:"class"`
	Status   int           `json:"status,omitempty"`
	Bytes    int64         `json:"bytes"`
	Sent     time.Time     `json:"sent"`
	SlotWait time.Duration `json:"slot_wait_ns"`
	Upstream time.Duration `json:"upstream_ns"`
}

// Executions is the event that carries them, from one worker for one query.
type Executions struct {
	V          int         `json:"v"`
	Query      string      `json:"query"`
	Run        int         `json:"run"`
	Worker     string      `json:"worker"`
	Executions []Execution `json:"executions"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Executions) Validate() error {
	if n := len(m.Executions); n == 0 || n > MaxExecutions {
		return fmt.Errorf("executions: %w: %d, want 1 to %d", ErrInvalid, n, MaxExecutions)
	}
	for i := range m.Executions {
		if err := m.Executions[i].validate(); err != nil {
			return fmt.Errorf("executions[%d]: %w", i, err)
		}
	}
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		field("worker", CheckName(m.Worker)),
	)
}

func (m *Execution) validate() error {
	return firstError(
		field("position", checkPosition(m.Position)),
		field("attempt", CheckName(m.Attempt)),
		checkCount("page", int64(m.Page)),
		checkCount("try", int64(m.Try)),
		field("class", CheckName(m.Class)),
		field("status", checkStatus(m.Status)),
		checkCount("bytes", m.Bytes),
	)
}

// Encode validates m and gives its wire form.
func (m *Executions) Encode() ([]byte, error) { return encode("executions", m, maxExecutionsBytes) }

// DecodeExecutions reads an execution event; it refuses what Encode would not have written.
func DecodeExecutions(data []byte) (*Executions, error) {
	return decode[Executions]("executions", data, maxExecutionsBytes)
}
