package messages

import "fmt"

// Preview is the first rows that are stored of a query, as texts: in the order of positions, before duplicates are left out and before a
// definition's finalize.
type Preview struct {
	V       int             `json:"v"`
	Query   string          `json:"query"`
	Columns []PreviewColumn `json:"columns"`
	Rows    [][]*string     `json:"rows"` // one text for each column; nil: null
	More    bool            `json:"more"` // there are rows that are not shown, or will be
}

// PreviewColumn is one column of a preview.
type PreviewColumn struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
	Unit string `json:"unit,omitempty"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Preview) Validate() error {
	for i, row := range m.Rows {
		if len(row) != len(m.Columns) {
			return fmt.Errorf("rows[%d]: %w: %d values for %d columns", i, ErrInvalid, len(row), len(m.Columns))
		}
	}
	return firstError(checkVersion(m.V), field("query", CheckName(m.Query)))
}

// DecodePreview reads what a coordinator answers.
func DecodePreview(data []byte) (*Preview, error) { return decodeView[Preview]("preview", data) }
