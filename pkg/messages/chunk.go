package messages

import "time"

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
