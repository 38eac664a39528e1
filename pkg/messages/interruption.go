package messages

import (
	"fmt"
	"time"
)

// InterruptionKind tells why a chunk did not end.
type InterruptionKind string

// The kinds of interruption. None is the chunk's fault; all are resumable.
const (
	QuotaExhausted     InterruptionKind = "quota"       // the service refused for quota (429)
	ServiceInterrupted InterruptionKind = "service"     // 5xx, connection lost, unreadable answers, retries used up
	StoreFull          InterruptionKind = "store_full"  // what came could not be stored: the message store is full
	HandedBack         InterruptionKind = "handed_back" // not run: gate closed, query stopped, or worker draining
	AllowanceSpent     InterruptionKind = "allowance"   // the requests that the item was allowed are sent; it goes on with further ones
)

const maxInterruptionBytes = 16 << 10

// Interruption says that an item ended without a result, with what was known. The item is gone: a resume asks again.
type Interruption struct {
	V        int              `json:"v"`
	Query    string           `json:"query"`
	Run      int              `json:"run"`
	Position Position         `json:"position"`
	Service  string           `json:"service"`
	Kind     InterruptionKind `json:"kind"`
	Status   int              `json:"status,omitempty"` // HTTP status, 0 when there was no answer
	Reason   string           `json:"reason"`
	Until    time.Time        `json:"until,omitzero"`     // when to go on, as far as the service said or its quota's window tells
	Requests int              `json:"requests,omitempty"` // sent upstream for this item, without those of stored pages behind which another attempt can go on
	Sent     int              `json:"sent,omitempty"`     // all requests of this delivery of the item, for the query's budget
	Worker   string           `json:"worker"`
	At       time.Time        `json:"at"`
	// Dispatched is that of the item, which tells it from a later one of the same position; zero: it is not known.
	Dispatched time.Time `json:"dispatched,omitzero"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Interruption) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		field("position", checkPosition(m.Position)),
		field("service", CheckName(m.Service)),
		field("kind", m.checkKind()),
		field("status", checkStatus(m.Status)),
		checkText("reason", m.Reason),
		checkCount("requests", int64(m.Requests)),
		checkCount("sent", int64(m.Sent)),
		field("worker", CheckName(m.Worker)),
	)
}

func (m *Interruption) checkKind() error {
	switch m.Kind {
	case QuotaExhausted, ServiceInterrupted, StoreFull, HandedBack, AllowanceSpent:
		return nil
	}
	return fmt.Errorf("%.20q is none of quota, service, store_full, handed_back, allowance", m.Kind)
}

// Encode validates m and gives its wire form.
func (m *Interruption) Encode() ([]byte, error) {
	return encode("interruption", m, maxInterruptionBytes)
}

// DecodeInterruption reads an interruption; it refuses what Encode would not have written.
func DecodeInterruption(data []byte) (*Interruption, error) {
	return decode[Interruption]("interruption", data, maxInterruptionBytes)
}
