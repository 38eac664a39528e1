package messages

import (
	"fmt"
	"time"
)

// Garbage says what was removed because nothing needs it, or in a dry run what would be. Bytes are of messages as they are
// stored, without what the server adds.
type Garbage struct {
	V         int         `json:"v"`
	DryRun    bool        `json:"dry_run,omitempty"`
	Queries   []OldQuery  `json:"queries,omitempty"`   // that have ended long ago, the newest first
	Orphans   OrphanParts `json:"orphans"`             // parts of attempts that never became a result
	Leftovers []Leftover  `json:"leftovers,omitempty"` // of queries whose records are gone
	Bytes     int64       `json:"bytes"`               // of all of them
}

// GarbageOptions say what is garbage.
type GarbageOptions struct {
	OlderThan   time.Duration // queries that ended so long ago are; 0: no query is
	Interrupted bool          // of these, also such as were interrupted and can be resumed
	DryRun      bool          // nothing is removed
}

// OldQuery is a query that is older than what is kept.
type OldQuery struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	State   QueryState `json:"state"`
	Updated time.Time  `json:"updated"`
	Results int        `json:"results"`
	Bytes   int64      `json:"bytes"` // with its parts and pages
}

// OrphanParts counts parts and pages that no result has.
type OrphanParts struct {
	Attempts int   `json:"attempts"` // attempts and walks that they are of
	Bytes    int64 `json:"bytes"`
}

// Leftover is what is stored of a query that does not exist any more.
type Leftover struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"`
}

// StoredPart is a stored part or page as a stocktaking sees it.
type StoredPart struct {
	Query    string
	Owner    string // id of the attempt or walk that it belongs to
	Page     bool   // of a walk, which somebody may go on with
	Subjects string // of all that belongs to the owner, for whoever removes it
	Bytes    int64
	Stored   time.Time
}

// Validate reports the first field that is missing or out of bounds.
func (m *Garbage) Validate() error {
	err := firstError(
		checkVersion(m.V), checkCount("orphans.attempts", int64(m.Orphans.Attempts)), checkCount("orphans.bytes", m.Orphans.Bytes), checkCount("bytes", m.Bytes),
	)
	for i := range m.Queries {
		q := &m.Queries[i]
		if bad := firstError(
			field("id", CheckName(q.ID)), field("name", CheckName(q.Name)), field("state", q.State.check()),
			checkCount("results", int64(q.Results)), checkCount("bytes", q.Bytes),
		); bad != nil && err == nil {
			err = fmt.Errorf("queries[%d]: %w", i, bad)
		}
	}
	for i, l := range m.Leftovers {
		if bad := firstError(field("id", CheckName(l.ID)), checkCount("bytes", l.Bytes)); bad != nil && err == nil {
			err = fmt.Errorf("leftovers[%d]: %w", i, bad)
		}
	}
	return err
}

// DecodeGarbage reads what a coordinator answers.
func DecodeGarbage(data []byte) (*Garbage, error) { return decodeAnswer[Garbage]("garbage", data) }
