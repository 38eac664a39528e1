package messages

import (
	"errors"
	"fmt"
	"time"
)

const (
	// MaxQuotaSpends bounds the spends of a ledger.
	MaxQuotaSpends = 512
	// MaxQuotaReservations bounds the processes that reserve units of one pool at the same time.
	MaxQuotaReservations = 256

	maxQuotaBytes   = 256 << 10
	maxQuotaWindow  = 367 * 24 * time.Hour
	maxQuotaListing = 4 << 20
)

// QuotaLedger is the account of one owner at one quota pool, shared by all processes that spend it. It is stored in KV and
// changed only by compare-and-set. What the numbers mean for the next request is pkg/quota's to say. Instants are nanoseconds
// since 1970, which keeps a full ledger small; 0 is none.
type QuotaLedger struct {
	V        int           `json:"v"`
	Pool     string        `json:"pool"`
	Owner    string        `json:"owner"` // of the counter: a credential's name, or the host whose address is counted
	Counts   string        `json:"counts"`
	Model    string        `json:"model"`
	Window   time.Duration `json:"window_ns"`
	Limit    int64         `json:"limit"`               // units in a window; 0: not known
	Observed bool          `json:"observed,omitempty"`  // the service has said the limit
	HoldBack int64         `json:"hold_back,omitempty"` // of the newest request: units that are never spent
	Latest   int64         `json:"latest"`              // the ledger's clock, as it was moved last
	Sets     int64         `json:"sets,omitempty"`      // how often it was set back, because it had run ahead
	Total    int64         `json:"total"`               // units spent since the ledger was begun; a clock without time
	Spent    []QuotaSpend  `json:"spent,omitempty"`     // in the order of To
	Full     int64         `json:"full,omitempty"`      // of a bucket: when it is full again
	Phase    int64         `json:"phase,omitempty"`     // of a fixed window: an instant at which one begins

	Reserved []QuotaReservation `json:"reserved,omitempty"`
	Reading  *QuotaReading      `json:"reading,omitempty"` // the service's newest word
	Refused  int64              `json:"refused,omitempty"` // no request is sent before this, as a refusal said

	Served bool  `json:"served,omitempty"` // a request was served: what its answer did not say of the quota is not said
	Begun  int64 `json:"begun,omitempty"`  // when the account was begun, or begun again after it was lost: tells the two apart
}

// QuotaSpend is units that were spent between two instants.
type QuotaSpend struct {
	From  int64 `json:"f"` // the earliest instant at which the service can have counted them
	To    int64 `json:"t"` // the latest one: they come back a window after it at the latest
	Units int64 `json:"n"`
	// Unsure is those of Units that were reserved by somebody who has not been heard of since: they may not have been spent.
	Unsure int64 `json:"u,omitempty"`
}

// QuotaReservation is units that one process may spend until a deadline, without asking again. What is not given back by then
// counts as spent, until the process says what became of it.
type QuotaReservation struct {
	Holder string `json:"holder"`
	Free   int64  `json:"free"`   // reserved and not used
	Flying int64  `json:"flying"` // of requests that are not answered
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	Heard  int64  `json:"heard,omitempty"`  // spends that the process has told of, since it began
	Lapsed int64  `json:"lapsed,omitempty"` // units that count as spent since the deadline was over
}

// QuotaReading is what the service said of the pool with one answer.
type QuotaReading struct {
	Remaining int64 `json:"remaining"`       // units left, the answered request counted
	Total     int64 `json:"total"`           // of the ledger, when that request was sent, and its own cost: what is spent beyond is not in Remaining
	At        int64 `json:"at"`              // when the answer was read
	Reset     int64 `json:"reset,omitempty"` // when units come back, as the service says
}

// Validate reports the first field that is missing or out of bounds.
func (m *QuotaLedger) Validate() error {
	for i, s := range m.Spent {
		if s.Units < 1 || s.Units > maxCount || s.Unsure < 0 || s.Unsure > s.Units || s.From > s.To || s.From < 0 || i > 0 && s.To <= m.Spent[i-1].To {
			return fmt.Errorf("spent[%d]: %w: %d units from %d to %d", i, ErrInvalid, s.Units, s.From, s.To)
		}
	}
	holders := map[string]struct{}{}
	for i, r := range m.Reserved {
		if err := r.validate(); err != nil {
			return fmt.Errorf("reserved[%d]: %w", i, err)
		}
		if _, twice := holders[r.Holder]; twice {
			return fmt.Errorf("reserved[%d]: %w: %s stands twice", i, ErrInvalid, r.Holder)
		}
		holders[r.Holder] = struct{}{}
	}
	return firstError(
		checkVersion(m.V), field("pool", CheckName(m.Pool)), field("owner", CheckName(m.Owner)), field("counts", CheckName(m.Counts)),
		field("model", checkQuotaModel(m.Model)), field("window_ns", m.checkWindow()), field("spent", m.checkSizes()),
		checkCount("limit", m.Limit), checkCount("hold_back", m.HoldBack), checkCount("total", m.Total), checkCount("sets", m.Sets),
		field("instants", checkInstants(m.Latest, m.Full, m.Phase, m.Refused, m.Begun)), m.Reading.validate(),
	)
}

func (m *QuotaLedger) checkWindow() error {
	if m.Window < time.Millisecond || m.Window > maxQuotaWindow {
		return fmt.Errorf("%s, want 1ms to %s", m.Window, maxQuotaWindow)
	}
	return nil
}

func (m *QuotaLedger) checkSizes() error {
	if len(m.Spent) > MaxQuotaSpends || len(m.Reserved) > MaxQuotaReservations {
		return fmt.Errorf("%d spends and %d reservations, at most %d and %d", len(m.Spent), len(m.Reserved), MaxQuotaSpends, MaxQuotaReservations)
	}
	return nil
}

func checkQuotaModel(model string) error {
	switch model {
	case "rolling", "fixed", "bucket":
		return nil
	}
	return fmt.Errorf("%.20q is none of rolling, fixed, bucket", model)
}

// checkInstants keeps sums of instants and windows from overflowing: until the year 2200.
func checkInstants(instants ...int64) error {
	for _, at := range instants {
		if at < 0 || at > 7_258_118_400_000_000_000 {
			return errors.New("an instant is before 1970 or after 2200")
		}
	}
	return nil
}

func (r *QuotaReservation) validate() error {
	return firstError(field("holder", CheckName(r.Holder)), checkCount("free", r.Free), checkCount("flying", r.Flying), checkCount("heard", r.Heard), checkCount("lapsed", r.Lapsed), field("until", checkInstants(r.From, r.Until)))
}

func (r *QuotaReading) validate() error {
	if r == nil {
		return nil
	}
	return firstError(checkCount("reading.remaining", r.Remaining), checkCount("reading.total", r.Total), field("reading.at", checkInstants(r.At, r.Reset)))
}

// Encode validates m and gives its wire form.
func (m *QuotaLedger) Encode() ([]byte, error) { return encode("quota ledger", m, maxQuotaBytes) }

// DecodeQuotaLedger reads a ledger; it refuses what Encode would not have written.
func DecodeQuotaLedger(data []byte) (*QuotaLedger, error) {
	return decode[QuotaLedger]("quota ledger", data, maxQuotaBytes)
}

// QuotaStanding is how a pool stands, as people are shown it.
type QuotaStanding struct {
	Pool     string    `json:"pool"`
	Owner    string    `json:"owner"`
	Counts   string    `json:"counts"`          // requests, bytes or rows
	Limit    int64     `json:"limit,omitempty"` // in a window; 0: not known
	Observed bool      `json:"observed,omitempty"`
	Left     *int64    `json:"left,omitempty"`      // of the limit, what is held back counted in; nil: not known, as the limit is not
	HoldBack int64     `json:"hold_back,omitempty"` // of what is left, never spent
	Window   int64     `json:"window_seconds"`
	Model    string    `json:"model"`
	Since    time.Time `json:"since,omitzero"` // the oldest spend that counts
	Next     time.Time `json:"next,omitzero"`  // when the next request is allowed, unless that is now
	Reset    time.Time `json:"reset,omitzero"` // when units come back, where the service has named that time
	Updated  time.Time `json:"updated"`
}

// QuotaList is all pools that are known, in the order of pool and owner.
type QuotaList struct {
	V      int             `json:"v"`
	Quotas []QuotaStanding `json:"quotas" nullable:"false"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *QuotaList) Validate() error {
	for i, q := range m.Quotas {
		err := firstError(
			field("pool", CheckName(q.Pool)), field("owner", CheckName(q.Owner)), field("counts", CheckName(q.Counts)), field("model", checkQuotaModel(q.Model)),
			checkCount("limit", q.Limit), field("left", q.checkLeft()), checkCount("hold_back", q.HoldBack), checkCount("window_seconds", q.Window))
		if err != nil {
			return fmt.Errorf("quotas[%d]: %w", i, err)
		}
	}
	return checkVersion(m.V)
}

func (m *QuotaStanding) checkLeft() error {
	if m.Left == nil {
		return nil
	}
	return checkCount("units", *m.Left)
}

// Encode validates m and gives its wire form.
func (m *QuotaList) Encode() ([]byte, error) { return encode("quotas", m, maxQuotaListing) }

// DecodeQuotaList reads a list of pools; it refuses what Encode would not have written.
func DecodeQuotaList(data []byte) (*QuotaList, error) {
	return decode[QuotaList]("quotas", data, maxQuotaListing)
}
