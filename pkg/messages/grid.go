package messages

import "fmt"

// Grid says where the positions of a query's plan stand, counted in bins of neighbouring positions, so that a million of them are as many
// numbers as a screen has room for. What no list counts of a bin is pending.
type Grid struct {
	V       int    `json:"v"`
	Query   string `json:"query"`
	Run     int    `json:"run"`
	Chunks  int    `json:"chunks"`            // positions of the whole plan
	From    int    `json:"from"`              // the first position that is shown
	To      int    `json:"to"`                // the one behind the last
	Width   int    `json:"width"`             // positions in a bin; the last one may have fewer
	Reading bool   `json:"reading,omitempty"` // what is stored is still being read: the counts are of a part of it
	// Each list has one number for each bin. A position that was split is of Split until all below it is decided, then of what came of it.
	Done     []int `json:"done"`
	Empty    []int `json:"empty"`
	Split    []int `json:"split"`
	Failed   []int `json:"failed"`
	InFlight []int `json:"in_flight"` // given out to workers
}

// Validate reports the first field that is missing or out of bounds.
func (m *Grid) Validate() error {
	return firstError(checkVersion(m.V), field("query", CheckName(m.Query)), checkCount("chunks", int64(m.Chunks)), field("width", m.checkBins()))
}

func (m *Grid) checkBins() error {
	if m.From < 0 || m.To < m.From || m.To > m.Chunks || m.Width < 1 {
		return fmt.Errorf("%d for %d to %d of %d positions", m.Width, m.From, m.To, m.Chunks)
	}
	bins := (m.To - m.From + m.Width - 1) / m.Width
	for _, list := range [][]int{m.Done, m.Empty, m.Split, m.Failed, m.InFlight} {
		if len(list) != bins {
			return fmt.Errorf("%d numbers for %d bins", len(list), bins)
		}
	}
	return nil
}

// DecodeGrid reads what a coordinator answers.
func DecodeGrid(data []byte) (*Grid, error) { return decodeView[Grid]("grid", data) }
