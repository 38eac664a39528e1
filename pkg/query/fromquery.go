package query

import (
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// FromQuery is a column of the table of another query, whose values a condition asks for.
type FromQuery struct {
	Query  string `yaml:"from_query,required"` // path of its file, relative to the query file, or the id of a stored query
	Column string `yaml:"column,required"`     // of its table, as it is after finalize
	Prefix string `yaml:"prefix"`              // put before each value that does not begin with it

	queryLine, columnLine int
}

// IsStored tells whether the query is named by its id, and not by a file: no name of a file with an ending or a folder is an id.
func (f *FromQuery) IsStored() bool { return messages.CheckName(f.Query) == nil }

func (f *FromQuery) check(n strictyaml.Node) {
	f.queryLine, f.columnLine = lineOf(n, "from_query"), lineOf(n, "column")
	if f.Query == "" && n.At("from_query").Kind() == strictyaml.Scalar {
		n.At("from_query").Fail("is empty; name the file of a query, or the id of a complete one")
	}
	if !n.Has("column") || n.At("column").Kind() != strictyaml.Scalar {
		return // told already
	}
	if err := checkColumn(nil, f.Column); err != nil {
		n.At("column").Fail("%s", err)
	}
}

// PlaceOfQuery is where a condition names the query that its values come from.
func (c Condition) PlaceOfQuery() Place {
	return c.Place.below(c.Source.FromQuery.queryLine, ".from_query")
}

// PlaceOfColumn is where a condition names the column that its values come from.
func (c Condition) PlaceOfColumn() Place {
	return c.Place.below(c.Source.FromQuery.columnLine, ".column")
}

// Supply brings the values that a condition takes from another query: with the condition's prefix, and each once. from says
// in the notes where they come from.
func (r *Resolved) Supply(c Condition, values []string, from string) {
	list := located{fileValues: fileValues{values: append([]string(nil), values...)}}
	putPrefix(list.values, c.Source.FromQuery.Prefix)
	list = r.distinct(c, list)
	if len(list.values) > 0 {
		r.Values[c.Parameter] = list.values
	}
	noun := "values"
	if len(list.values) == 1 {
		noun = "value"
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%s: %d %s from %s", c.Parameter, len(list.values), noun, from))
}
