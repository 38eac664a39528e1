package messages

import (
	"fmt"
	"time"
)

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

// Validate reports the first field that is missing or out of bounds.
func (m *Series) Validate() error {
	if err := firstError(checkVersion(m.V), field("query", CheckName(m.Query)), checkCount("step_ns", int64(m.Step))); err != nil {
		return err
	}
	steps := len(m.Chunks)
	if len(m.Requests) != steps || len(m.Rows) != steps || len(m.Bytes) != steps || len(m.Median) != steps || len(m.P95) != steps || len(m.Wait) != steps {
		return fmt.Errorf("chunks: %w: %d steps, and other lists have another number", ErrInvalid, steps)
	}
	return checkInterruptions(m.Interruptions)
}

func checkInterruptions(list []*Interruption) error {
	for i, one := range list {
		if one == nil {
			return fmt.Errorf("interruptions[%d]: %w: it is null", i, ErrInvalid)
		}
		if err := one.Validate(); err != nil {
			return fmt.Errorf("interruptions[%d]: %w", i, err)
		}
	}
	return nil
}

// DecodeSeries reads what a coordinator answers.
func DecodeSeries(data []byte) (*Series, error) { return decodeView[Series]("series", data) }
