package messages

import (
	"errors"
	"fmt"
	"time"
)

// Outcome tells what a result is.
type Outcome string

// The outcomes of a chunk. Each is durable: the first one stored for a position is the position's result.
const (
	OutcomeRows   Outcome = "rows"   // the chunk's rows: those of its stored pages, then those inline or in parts
	OutcomeEmpty  Outcome = "empty"  // the service said that there are none
	OutcomeSplit  Outcome = "split"  // too large: its children follow
	OutcomeFailed Outcome = "failed" // a deterministic failure
)

const (
	// MaxHeaderBytes bounds a result header; NATS allows 64 KiB of headers in a message.
	MaxHeaderBytes = 48 << 10
	maxColumns     = 1024
	maxParts       = 1 << 20
	maxPages       = 1 << 20
	maxCount       = int64(1) << 53
)

// ResultHeader is all that the coordinator reads of a result. The rows are those of the pages that were stored before the
// result, in their order, and then those in the body, or in the parts it counts.
type ResultHeader struct {
	V           int           `json:"v"`
	Query       string        `json:"query"`
	Run         int           `json:"run"`
	Position    Position      `json:"position"`
	Outcome     Outcome       `json:"outcome"`
	Rows        int64         `json:"rows"`
	Pages       int           `json:"pages"`
	Requests    int           `json:"requests"`            // sent upstream by the attempt that committed it, and for the stored pages that it went on behind; retries included
	Sent        int           `json:"sent,omitempty"`      // all requests of the delivery of the item that committed it, for the query's budget
	Uncounted   bool          `json:"uncounted,omitempty"` // attempts before may have sent requests that are counted nowhere
	Columns     []string      `json:"columns,omitempty"`
	Bytes       int64         `json:"bytes"`                  // of the rows, before compression
	SHA256      string        `json:"sha256"`                 // of the rows, before compression, in hex
	Parts       int           `json:"parts,omitempty"`        // 0: the rows are in this message's body
	Walk        string        `json:"walk,omitempty"`         // the walk whose stored pages are the result's
	StoredPages int           `json:"stored_pages,omitempty"` // how many of its pages were stored before the result, from the first one on
	Doubted     bool          `json:"doubted,omitempty"`      // nothing confirms that the last page was the last
	Attempt     string        `json:"attempt"`                // random id of the attempt that committed
	Worker      string        `json:"worker"`
	Generation  uint64        `json:"generation"` // of the slot that covered the last request
	Started     time.Time     `json:"started"`
	Finished    time.Time     `json:"finished"`
	SlotWait    time.Duration `json:"slot_wait_ns"`        // time spent waiting for a slot
	Upstream    time.Duration `json:"upstream_ns"`         // time spent in requests
	LastPage    *Request      `json:"last_page,omitempty"` // the request that brought it; those of the stored pages stand with them
	Failure     *Failure      `json:"failure,omitempty"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *ResultHeader) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		field("position", checkPosition(m.Position)),
		field("outcome", m.checkOutcome()),
		checkCount("rows", m.Rows),
		checkCount("pages", int64(m.Pages)),
		checkCount("requests", int64(m.Requests)),
		checkCount("sent", int64(m.Sent)),
		checkCount("bytes", m.Bytes),
		field("columns", checkColumns(m.Columns)),
		field("sha256", checkDigest(m.SHA256)),
		field("parts", checkParts(m.Parts)),
		field("stored_pages", m.checkStored()),
		field("attempt", CheckName(m.Attempt)),
		field("worker", CheckName(m.Worker)),
		m.LastPage.validate(),
	)
}

func (m *ResultHeader) checkOutcome() error {
	switch m.Outcome {
	case OutcomeRows:
		if m.Rows == 0 {
			return errors.New(`"rows" without rows`)
		}
	case OutcomeEmpty, OutcomeSplit:
		if m.Rows != 0 {
			return fmt.Errorf("%q with %d rows", m.Outcome, m.Rows)
		}
	case OutcomeFailed:
		if m.Failure == nil {
			return errors.New(`"failed" without a failure`)
		}
		return m.Failure.Validate()
	default:
		return fmt.Errorf("%.20q is none of rows, empty, split, failed", m.Outcome)
	}
	if m.Failure != nil {
		return fmt.Errorf("%q with a failure", m.Outcome)
	}
	return nil
}

func (m *ResultHeader) checkStored() error {
	switch {
	case m.StoredPages == 0 && m.Walk == "":
		return nil
	case m.StoredPages == 0:
		return errors.New("a walk without stored pages")
	case m.StoredPages > m.Pages:
		return fmt.Errorf("%d of %d pages", m.StoredPages, m.Pages)
	case m.Outcome == OutcomeSplit || m.Outcome == OutcomeFailed:
		return fmt.Errorf("%q with stored pages", m.Outcome)
	}
	return firstError(checkPages(m.StoredPages), CheckName(m.Walk))
}

// StoredUnder lists the ids under which rows of the result are stored beside it: its walk's, and its attempt's.
func (m *ResultHeader) StoredUnder() []string {
	var ids []string
	if m.StoredPages > 0 {
		ids = append(ids, m.Walk)
	}
	if m.Parts > 0 {
		ids = append(ids, m.Attempt)
	}
	return ids
}

func checkColumns(columns []string) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("%d columns, at most %d", len(columns), maxColumns)
	}
	return nil
}

func checkParts(n int) error {
	if n < 0 || n > maxParts {
		return fmt.Errorf("%d, want 0 to %d", n, maxParts)
	}
	return nil
}

// Encode validates m and gives its wire form: one line of JSON, fit for a message header.
func (m *ResultHeader) Encode() ([]byte, error) {
	data, err := encode("result header", m, MaxHeaderBytes)
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("%w; the chunk has too many or too long column names", err)
	}
	return data, err
}

// DecodeResultHeader reads a result header; it refuses what Encode would not have written.
func DecodeResultHeader(data []byte) (*ResultHeader, error) {
	return decode[ResultHeader]("result header", data, MaxHeaderBytes)
}
