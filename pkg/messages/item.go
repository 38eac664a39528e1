package messages

import (
	"encoding/json"
	"fmt"
	"time"
)

// MaxTaskBytes bounds the task of one item: a request of at most 64 KiB of URL and 512 KiB of body, with JSON's escapes.
const MaxTaskBytes = 768 << 10

const maxItemBytes = MaxTaskBytes + 8<<10

// Item asks a worker to run one chunk.
type Item struct {
	V          int             `json:"v"`
	Query      string          `json:"query"`
	Run        int             `json:"run"` // 1 for the first start of the query, one more for each resume
	Position   Position        `json:"position"`
	Service    string          `json:"service"`
	Definition string          `json:"definition"` // SHA-256, in hex, of the service definition pinned by the query
	Collection string          `json:"collection"`
	Task       json.RawMessage `json:"task"` // what the service's adapter is to do: for a declarative service, the request
	Dispatched time.Time       `json:"dispatched"`
	Recheck    bool            `json:"recheck,omitempty"`   // the position may have a result by now: look before asking upstream
	Divisible  bool            `json:"divisible,omitempty"` // the chunk can be divided when the service refuses it as too large
	Asks       string          `json:"asks,omitempty"`      // the values that the chunk asks for, as people read them in a failure
	MaxRows    int64           `json:"max_rows,omitempty"`  // rows after which the walk may end; 0: all
	HoldBack   int64           `json:"hold_back,omitempty"` // requests of a quota that the query never spends
	Allowance  int             `json:"allowance,omitempty"` // requests that may be sent for the item before it is given back; 0: any number
	Trace      string          `json:"-"`                   // W3C traceparent, which travels in the header of the message; empty: it is not traced
}

// Validate reports the first field that is missing or out of bounds.
func (m *Item) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		field("position", checkPosition(m.Position)),
		field("service", CheckName(m.Service)),
		field("definition", checkDigest(m.Definition)),
		field("collection", CheckName(m.Collection)),
		field("task", checkTask(m.Task)),
		checkText("asks", m.Asks),
		checkCount("max_rows", m.MaxRows),
		checkCount("hold_back", m.HoldBack),
		checkCount("allowance", int64(m.Allowance)),
	)
}

func checkTask(task json.RawMessage) error {
	if len(task) == 0 || len(task) > MaxTaskBytes {
		return fmt.Errorf("%d bytes, want 1 to %d", len(task), MaxTaskBytes)
	}
	return nil
}

// Encode validates m and gives its wire form.
func (m *Item) Encode() ([]byte, error) { return encode("item", m, maxItemBytes) }

// DecodeItem reads an item; it refuses what Encode would not have written.
func DecodeItem(data []byte) (*Item, error) { return decode[Item]("item", data, maxItemBytes) }

// Refused is an item that was not queued, because the queue held another one of the same position.
type Refused struct {
	Item   *Item
	Queued *Item // what the queue held; nil: it had gone when it was looked at
}
