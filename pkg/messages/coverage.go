package messages

import (
	"encoding/json"
	"fmt"
)

// Coverage says of each value that a query asks for what came of it.
type Coverage struct {
	V      int       `json:"v"`
	Query  string    `json:"query"`
	Sites  string    `json:"sites,omitempty"` // the parameter whose values are sites
	Values []Covered `json:"values"`          // in the order of the plan's axes, then of the values
}

// Covered is what came of one value.
type Covered struct {
	Parameter string        `json:"parameter"`
	Value     string        `json:"value"`
	State     CoverageState `json:"state"`
	Rows      int64         `json:"rows"` // as the service sent them, duplicates included
}

// CoverageState says what came of a value.
type CoverageState string

// What may come of a value.
const (
	CoveredWhole    CoverageState = "rows"        // it has rows, and nothing of it is missing
	SaidEmpty       CoverageState = "empty"       // the service said that there is nothing
	CoveredPartly   CoverageState = "partly"      // it has rows, and some were not fetched
	NotFetched      CoverageState = "not_fetched" // nothing of it was fetched
	CoverageUnclear CoverageState = "unclear"     // it was asked for together with others, and the rows do not tell whose they are
)

// Validate reports the first field that is missing or out of bounds.
func (m *Coverage) Validate() error {
	if err := firstError(checkVersion(m.V), field("query", CheckName(m.Query))); err != nil {
		return err
	}
	for i, c := range m.Values {
		switch c.State {
		case CoveredWhole, SaidEmpty, CoveredPartly, NotFetched, CoverageUnclear:
		default:
			return fmt.Errorf("values[%d]: state: %.40q is none", i, c.State)
		}
		if c.Parameter == "" || c.Rows < 0 {
			return fmt.Errorf("values[%d]: parameter or rows are missing", i)
		}
	}
	return nil
}

// DecodeCoverage reads what a coordinator answers.
func DecodeCoverage(data []byte) (*Coverage, error) {
	var m Coverage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("decode coverage: %w", err)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("decode coverage: %w", err)
	}
	return &m, nil
}
