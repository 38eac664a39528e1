package messages

import (
	"fmt"
	"time"
)

// MaxBegun bounds what is remembered of one position's runs.
const MaxBegun = 16

const maxSuspectBytes = 16 << 10

// Suspect says which workers have begun with a position whose item came back without a word more than once, and have not
// ended it: a chunk that ends whoever runs it stands there with all of them.
type Suspect struct {
	V        int      `json:"v"`
	Query    string   `json:"query"`
	Run      int      `json:"run"`
	Position Position `json:"position"`
	Begun    []Begun  `json:"begun,omitempty"` // the oldest first
}

// Begun is one run of a position that has not ended.
type Begun struct {
	Attempt  string    `json:"attempt"` // names it
	Worker   string    `json:"worker"`
	Delivery int       `json:"delivery"` // of the item, 1 for the first
	At       time.Time `json:"at"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Suspect) Validate() error {
	var begun error
	if len(m.Begun) > MaxBegun {
		begun = fmt.Errorf("%d, at most %d", len(m.Begun), MaxBegun)
	}
	for _, b := range m.Begun[:min(len(m.Begun), MaxBegun)] {
		begun = firstError(begun, CheckName(b.Attempt), CheckName(b.Worker), checkCount("delivery", int64(b.Delivery)))
	}
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		field("position", checkPosition(m.Position)),
		field("begun", begun),
	)
}

// Encode validates m and gives its wire form.
func (m *Suspect) Encode() ([]byte, error) { return encode("suspect", m, maxSuspectBytes) }

// DecodeSuspect reads a record; it refuses what Encode would not have written.
func DecodeSuspect(data []byte) (*Suspect, error) {
	return decode[Suspect]("suspect", data, maxSuspectBytes)
}
