package messages

import (
	"fmt"
	"time"
)

// ChunkState is where one position stands.
type ChunkState string

// The states of a position.
const (
	ChunkPending  ChunkState = "pending"
	ChunkInFlight ChunkState = "in_flight" // given out to the workers
	ChunkDone     ChunkState = "done"      // it has rows
	ChunkEmpty    ChunkState = "empty"
	ChunkSplit    ChunkState = "split"
	ChunkFailed   ChunkState = "failed"
)

// Check refuses what is no state.
func (s ChunkState) Check() error {
	switch s {
	case ChunkPending, ChunkInFlight, ChunkDone, ChunkEmpty, ChunkSplit, ChunkFailed:
		return nil
	}
	return fmt.Errorf("%.20q is none of pending, in_flight, done, empty, split, failed", string(s))
}

// Chunk is one position of a query with what is known of it, without its rows.
type Chunk struct {
	Position Position      `json:"position"`
	State    ChunkState    `json:"state"`
	Rows     int64         `json:"rows"`
	Pages    int           `json:"pages"`
	Requests int           `json:"requests"`
	Bytes    int64         `json:"bytes"`
	Run      int           `json:"run,omitempty"` // of the result; 0: there is none
	Worker   string        `json:"worker,omitempty"`
	Started  time.Time     `json:"started,omitzero"`
	Finished time.Time     `json:"finished,omitzero"`
	SlotWait time.Duration `json:"slot_wait_ns,omitempty"`
	Upstream time.Duration `json:"upstream_ns,omitempty"`
	Class    string        `json:"class,omitempty"` // of a failure
	Message  string        `json:"message,omitempty"`
}

// ChunkList is a part of the positions of a query, in their order.
type ChunkList struct {
	V       int      `json:"v"`
	Query   string   `json:"query"`
	Reading bool     `json:"reading,omitempty"`
	Chunks  []Chunk  `json:"chunks"`
	Next    Position `json:"next,omitempty"` // where to go on; empty: there are no more
}

// ChunkDetail is all that is known of one position.
type ChunkDetail struct {
	V     int    `json:"v"`
	Query string `json:"query"`
	Chunk
	Asks     string     `json:"asks,omitempty"`     // the values that it asks for
	URL      string     `json:"url,omitempty"`      // of its first request, cut to what a message carries
	Failure  *Failure   `json:"failure,omitempty"`  // why it failed
	Children []Position `json:"children,omitempty"` // of a split one
	// Attempts are all that workers told of it, the oldest first, at most 200.
	Attempts []Execution `json:"attempts"`
	// StoredPages are the pages of its walks, in order, at most 1000.
	StoredPages []ChunkPage `json:"stored_pages"`
	// Interruptions are those of this position, the oldest first, at most 100.
	Interruptions []*Interruption `json:"interruptions"`
}

// ChunkPage is one page that is stored of a position.
type ChunkPage struct {
	Page    int       `json:"page"` // 0-based
	Walk    string    `json:"walk,omitempty"`
	Rows    int64     `json:"rows"`
	Bytes   int64     `json:"bytes"`
	Request *Request  `json:"request,omitempty"` // that brought it
	At      time.Time `json:"at,omitzero"`
}

func (m *Chunk) check() error {
	return firstError(field("position", checkPosition(m.Position)), field("state", m.State.Check()), checkCount("rows", m.Rows), checkCount("bytes", m.Bytes))
}

// Validate reports the first field that is missing or out of bounds.
func (m *ChunkList) Validate() error {
	var next error
	if m.Next != "" {
		next = checkPosition(m.Next)
	}
	if err := firstError(checkVersion(m.V), field("query", CheckName(m.Query)), field("next", next)); err != nil {
		return err
	}
	for i := range m.Chunks {
		if err := m.Chunks[i].check(); err != nil {
			return fmt.Errorf("chunks[%d]: %w", i, err)
		}
	}
	return nil
}

// DecodeChunkList reads what a coordinator answers.
func DecodeChunkList(data []byte) (*ChunkList, error) { return decodeView[ChunkList]("chunks", data) }

// Validate reports the first field that is missing or out of bounds.
func (m *ChunkDetail) Validate() error {
	if err := firstError(checkVersion(m.V), field("query", CheckName(m.Query)), m.check()); err != nil {
		return err
	}
	for i := range m.Attempts {
		if err := m.Attempts[i].validate(); err != nil {
			return fmt.Errorf("attempts[%d]: %w", i, err)
		}
	}
	return checkInterruptions(m.Interruptions)
}

// DecodeChunkDetail reads what a coordinator answers.
func DecodeChunkDetail(data []byte) (*ChunkDetail, error) {
	return decodeView[ChunkDetail]("chunk", data)
}
