package messages

import (
	"encoding/json"
	"fmt"
)

// MaxShownLost bounds the positions that a Verification lists of one query.
const MaxShownLost = 1000

// Verification says whether all that is stored of a query is as it was committed.
type Verification struct {
	V       int             `json:"v"`
	Query   string          `json:"query"`
	Queries []VerifiedQuery `json:"queries"` // the query itself, and then those that it goes on from
}

// VerifiedQuery is what was found of one query.
type VerifiedQuery struct {
	ID      string     `json:"id"`
	State   QueryState `json:"state"`             // as it is now
	Results int        `json:"results"`           // that were read, and are as they were committed
	Bytes   int64      `json:"bytes"`             // of their rows
	Pending int        `json:"pending,omitempty"` // chunks without a result; 0 as well where the rows that are wanted are there
	// Damaged is how many results, or stored pages of results, cannot be read or fail their digest; Missing how many are not
	// there although they were counted before.
	Damaged  int          `json:"damaged"`
	Missing  int          `json:"missing"`
	Lost     []LostResult `json:"lost,omitempty"`     // the first of them, as far as it is known which they are
	Pinned   string       `json:"pinned,omitempty"`   // what is wrong with the query's spec or service definition: it cannot be resumed
	Reopened bool         `json:"reopened,omitempty"` // the positions are pending again, and the query is interrupted
	Lapsed   bool         `json:"lapsed,omitempty"`   // results were found to be lost before, and the query has not gone on since
}

// LostResult is a position whose result is lost or damaged.
type LostResult struct {
	Position Position `json:"position"`
	Reason   string   `json:"reason"`
}

// Whole tells whether nothing is lost.
func (m *VerifiedQuery) Whole() bool {
	return m.Damaged == 0 && m.Missing == 0 && m.Pinned == "" && !m.Lapsed
}

// Whole tells whether nothing is lost of any of the queries.
func (m *Verification) Whole() bool {
	for i := range m.Queries {
		if !m.Queries[i].Whole() {
			return false
		}
	}
	return true
}

// Validate reports the first field that is missing or out of bounds.
func (m *Verification) Validate() error {
	if err := firstError(checkVersion(m.V), field("query", CheckName(m.Query))); err != nil {
		return err
	}
	for i := range m.Queries {
		q := &m.Queries[i]
		err := firstError(
			field("id", CheckName(q.ID)), field("state", q.State.check()), checkCount("results", int64(q.Results)), checkCount("bytes", q.Bytes),
			checkCount("damaged", int64(q.Damaged)), checkCount("missing", int64(q.Missing)), checkCount("pending", int64(q.Pending)), checkText("pinned", q.Pinned),
		)
		for _, lost := range q.Lost {
			err = firstError(err, field("position", checkPosition(lost.Position)), checkText("reason", lost.Reason))
		}
		if err != nil {
			return fmt.Errorf("queries[%d]: %w", i, err)
		}
	}
	return nil
}

// DecodeVerification reads what a coordinator answers.
func DecodeVerification(data []byte) (*Verification, error) {
	return decodeAnswer[Verification]("verification", data)
}

// decodeAnswer reads what a coordinator answers, which may be of a newer version that says more.
func decodeAnswer[T any, P interface {
	*T
	message
}](what string, data []byte) (P, error) {
	m := P(new(T))
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	return m, nil
}
