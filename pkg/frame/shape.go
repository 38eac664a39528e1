package frame

// Type is the declared type of a column. Types come from the service definition, never from the data.
type Type string

// The types of columns (docs/service-definition.md, fields).
const (
	Text      Type = "text"
	Int64     Type = "int64"
	Float64   Type = "float64"
	Decimal   Type = "decimal" // the server's digits as text; a 64-bit float in formats that have numbers
	Bool      Type = "bool"
	Date      Type = "date"      // YYYY-MM-DD
	Timestamp Type = "timestamp" // ISO 8601 with an explicit offset
	ListText  Type = "list_text" // a JSON list of texts
	JSON      Type = "json"      // the server's bytes
	Geometry  Type = "geometry"  // GeoJSON geometry, the server's bytes
)

// Field declares one column, or a family of columns when Name begins or ends with a star; exact names win.
type Field struct {
	Name string
	Type Type
	From string   // path in the item when it is not a member of the row itself; read by the page decoder, not by frame
	Null []string // texts that mean null
	Zone string   // of a timestamp: the offset, Z or ±hh:mm, of values that are written without one; empty: they do not convert
	// Unit is the unit of the values, as people write it; UnitFrom names the field that has it instead. At most one is set.
	Unit, UnitFrom string
}

// UnknownRule says what becomes of a member that no field declares.
type UnknownRule string

// The rules for unknown fields; the zero value is UnknownText.
const (
	UnknownText UnknownRule = "text" // kept as text, reported once
	UnknownDrop UnknownRule = "drop"
	UnknownFail UnknownRule = "fail"
)

// DuplicateRule says which of several rows with one key stays.
type DuplicateRule string

// The rules for duplicates; the zero value is KeepFirst.
const (
	KeepFirst  DuplicateRule = "keep_first" // the first in position order
	KeepNewest DuplicateRule = "newest"     // the one with the greatest value in Shape.NewestBy; the first of equals
	// FailIfDifferent lets the first of equal rows stay, and fails where rows of one key differ. Since nothing is lost in silence
	// by it, a part of the key whose column no row has does not count: services may have one of several columns in an answer.
	FailIfDifferent DuplicateRule = "fail_if_different"
)

// Operation is one step of finalize: exactly one of its members is set.
type Operation struct {
	Rename map[string]string   `json:",omitempty"`
	Drop   []string            `json:",omitempty"`
	Select []string            `json:",omitempty"`
	Add    map[string]string   `json:",omitempty"` // column → constant text; columns are added in bytewise order of name
	Cast   map[string]Type     `json:",omitempty"`
	Filter map[string][]string `json:",omitempty"` // keep rows whose column has one of the texts
	Sort   []string            `json:",omitempty"` // stable, nulls last, by the type's order; text bytewise
	Limit  *int                `json:",omitempty"`
}

// Shape says how rows become the table. It is part of the query: every export of a query has the same shape.
type Shape struct {
	Fields      []Field
	Unknown     UnknownRule
	Key         []string // a row with any null key part is never a duplicate; see FailIfDifferent for a part that no row has
	OnDuplicate DuplicateRule
	NewestBy    string
	Finalize    []Operation
	Select      []string // the query's columns, applied after Finalize; empty: all
	Roles       Roles    // for a summary
	// Runs are the numbers of rows of each run of a query that goes on from earlier ones, the oldest first; rows come in that order. A
	// row gives way to one of its key of a newer run, however they differ, but with KeepNewest when it is the newer one itself. A row
	// without a key gives way to one of a newer run that is equal to it. Empty: all rows are of one run.
	Runs []int64
}

// newestBy is the column that tells which of two rows is newer; empty when none does.
func (s Shape) newestBy() string {
	if s.OnDuplicate == KeepNewest {
		return s.NewestBy
	}
	return ""
}
