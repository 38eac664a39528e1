package query

import (
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Condition says which values of one parameter are wanted.
type Condition struct {
	Parameter string
	Source    ValueSource
	Place     Place // of the condition as a whole
}

// ValueSource is where a condition's values come from: exactly one of Values, File, FromQuery, Interval and Instant is set.
// One of which none is set could not be read, and its problem has been told.
type ValueSource struct {
	Values []string
	Lines  []int32 // of the values, where they are a list in a file; else nil
	File   *ValueFile
	// FromQuery is a column of the table of another query.
	FromQuery *FromQuery
	Interval  *Interval
	Instant   *Instant
}

// ValueFile is a file with values: a column of a table, or one value a line.
type ValueFile struct {
	Path   string `yaml:"file,required"` // relative to the query file
	Column string `yaml:"column"`        // empty: the file has one value a line and no header
	Prefix string `yaml:"prefix"`        // put before each value that does not begin with it
}

type conditionRule struct {
	source ValueSource
	line   int
}

// UnmarshalStrict reads a value, a list of values, a value file, an interval or an instant.
func (c *conditionRule) UnmarshalStrict(n strictyaml.Node) {
	c.line = n.KeyLine()
	before := n.Problems()
	c.read(n)
	if n.Problems() > before {
		c.source = ValueSource{}
	}
}

func (c *conditionRule) read(n strictyaml.Node) {
	if n.Kind() != strictyaml.Mapping {
		c.readValues(n)
		return
	}
	switch {
	case n.Has("from_query"):
		c.source.FromQuery = new(FromQuery)
		n.Decode(c.source.FromQuery)
		c.source.FromQuery.check(n)
	case n.Has("file") || n.Has("column"):
		c.source.File = new(ValueFile)
		n.Decode(c.source.File)
		if c.source.File.Path == "" && n.Has("file") {
			n.At("file").Fail("is empty")
		}
	case n.Has("from") || n.Has("to"):
		c.source.Interval = new(Interval)
		n.Decode(c.source.Interval)
		c.source.Interval.fromLine, c.source.Interval.toLine = lineOf(n, "from"), lineOf(n, "to")
	case n.Has("at"):
		c.source.Instant = new(Instant)
		n.Decode(c.source.Instant)
		if c.source.Instant.At == "" && n.At("at").Kind() == strictyaml.Scalar {
			n.At("at").Fail("is empty; write a time, or remove the parameter to ask for all times")
		}
	default:
		n.Fail("want a value, a list of values, {file: PATH, column: NAME, prefix: TEXT}, {from_query: QUERY.yaml, column: NAME}, {from: A, to: B, zone: ZONE} or {at: A, zone: ZONE}")
	}
}

func (c *conditionRule) readValues(n strictyaml.Node) {
	var values strictyaml.OneOrMany[string]
	n.Decode(&values)
	if n.Kind() != strictyaml.List {
		c.source.Values = values
		return
	}
	if len(values) == 0 {
		n.Fail("the list is empty; give values, or remove the parameter to ask for all")
		return
	}
	c.source.Values = values
	c.source.Lines = make([]int32, 0, len(values))
	for item := range n.Items() {
		c.source.Lines = append(c.source.Lines, int32(item.Line()))
	}
}

func lineOf(n strictyaml.Node, key string) int {
	if !n.Has(key) {
		return 0
	}
	return n.At(key).Line()
}

// Paths are the files that values come from, as they are written.
func (s ValueSource) Paths() []string {
	switch {
	case s.File != nil:
		return []string{s.File.Path}
	case s.FromQuery != nil && !s.FromQuery.IsStored():
		return []string{s.FromQuery.Query}
	}
	return nil
}
