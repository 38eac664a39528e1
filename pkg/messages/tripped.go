package messages

import (
	"errors"
	"fmt"
)

// Tripped is the evidence of a breaker that stopped a query: the window in which too many chunks failed.
type Tripped struct {
	Window    int    `json:"window"`    // chunks that are looked at, the last ones that ended
	Minimum   int    `json:"minimum"`   // fewer trip nothing
	Threshold string `json:"threshold"` // share of failures that trips, as a decimal number
	Ended     int    `json:"ended"`     // chunks in the window, when it tripped
	Failed    int    `json:"failed"`    // of these
	Alike     int    `json:"alike"`     // of these, those with the most frequent reason: the Stop's status and class
}

func (m *Tripped) validate() error {
	switch {
	case m == nil:
		return nil
	case m.Window < 1 || m.Minimum < 1 || m.Ended < 1 || m.Ended > m.Window:
		return fmt.Errorf("%d of a window of %d, of which %d are needed", m.Ended, m.Window, m.Minimum)
	case m.Failed < 1 || m.Failed > m.Ended || m.Alike < 1 || m.Alike > m.Failed:
		return fmt.Errorf("%d of %d failed, %d of them alike", m.Failed, m.Ended, m.Alike)
	case m.Threshold == "" || len(m.Threshold) > 40:
		return errors.New("the threshold is missing or too long")
	}
	return nil
}
