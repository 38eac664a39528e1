package query

import (
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Condition says which values of one parameter are wanted.
type Condition struct {
	Parameter string
	Source    ValueSource
}

// ValueSource is where a condition's values come from: exactly one member is set.
type ValueSource struct {
	Values   []string
	File     *ValueFile
	Interval *Interval
}

// ValueFile is a file with values: a column of a table, or one value a line.
type ValueFile struct {
	Path   string `yaml:"file,required"` // relative to the query file
	Column string `yaml:"column"`        // empty: the file has one value a line and no header
	Prefix string `yaml:"prefix"`        // put before each value that does not begin with it
}

// Interval is a span of time. An end that is not given is open; the word today is frozen when the query is resolved.
type Interval struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

type conditionRule struct{ source ValueSource }

// UnmarshalStrict reads a value, a list of values, a value file or an interval.
func (c *conditionRule) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() != strictyaml.Mapping {
		var values strictyaml.OneOrMany[string]
		n.Decode(&values)
		if n.Kind() == strictyaml.List && len(values) == 0 {
			n.Fail("the list is empty; give values, or remove the parameter to ask for all")
		}
		c.source.Values = values
		return
	}
	switch {
	case n.Has("from_query"):
		n.At("from_query").Fail("is not supported in this version; run that query first and name its table: {file: PATH, column: NAME}")
	case n.Has("file") || n.Has("column"):
		c.source.File = new(ValueFile)
		n.Decode(c.source.File)
		if c.source.File.Path == "" && n.Has("file") {
			n.At("file").Fail("is empty")
		}
	case n.Has("from") || n.Has("to"):
		c.source.Interval = new(Interval)
		n.Decode(c.source.Interval)
	default:
		n.Fail("want a value, a list of values, {file: PATH, column: NAME, prefix: TEXT} or {from: A, to: B}")
	}
}
