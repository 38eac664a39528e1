package messages

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
