package query

import (
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Output is one place where the table goes.
type Output struct {
	To       string   `yaml:"to,required"` // path relative to the query file, or - for standard output
	Format   Format   `yaml:"format"`      // default: by the path's ending
	IfExists IfExists `yaml:"if_exists"`   // default: fail
}

// UnmarshalStrict reads a mapping, or a plain path.
func (o *Output) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() == strictyaml.Scalar {
		if o.To = n.Text(); o.To == "" {
			n.Fail("is empty; write a path, or - for standard output")
		}
		return
	}
	type plain Output
	n.Decode((*plain)(o))
}

// Format is a format of tables.
type Format string

// UnmarshalStrict reads a format.
func (f *Format) UnmarshalStrict(n strictyaml.Node) {
	var text string
	n.Decode(&text)
	if n.Kind() != strictyaml.Scalar {
		return
	}
	*f = Format(text)
	if formatOf(text) != Format(text) || text == "" {
		n.Fail("%.40q is not a format; allowed are parquet, csv, jsonl, arrow, geojson", text)
	}
}

// formatOf gives the format that a path's ending, or a word, names; "" when it names none.
func formatOf(ending string) Format {
	switch ending {
	case "parquet", "csv", "jsonl", "arrow", "geojson":
		return Format(ending)
	case "ndjson":
		return "jsonl"
	}
	return ""
}

// IfExists says what becomes of a file that is there already.
type IfExists string

// The rules for files that exist.
const (
	IfExistsFail    IfExists = "fail"
	IfExistsReplace IfExists = "replace"
)

// Choices lists the rules.
func (IfExists) Choices() []string { return []string{string(IfExistsFail), string(IfExistsReplace)} }

func (q *Query) setOutputs(n strictyaml.Node) {
	if len(q.Outputs) == 0 {
		q.Outputs = []Output{{To: q.Name + ".parquet"}}
	}
	for i := range q.Outputs {
		output, at := &q.Outputs[i], n
		if n.Kind() == strictyaml.List {
			at = n.At(i)
		}
		if output.IfExists == "" {
			output.IfExists = IfExistsFail
		}
		if output.Format == "" {
			output.Format = formatOf(strings.ToLower(output.To[strings.LastIndexByte(output.To, '.')+1:]))
		}
		switch {
		case output.To == "": // told already
		case strings.HasPrefix(output.To, "postgres:"):
			at.Fail("tables in Postgres are not supported in this version; allowed are paths and -")
		case output.Format == "":
			at.Fail("the format is not told by the name %.80q; let it end in .parquet, .csv, .jsonl, .arrow or .geojson, or write {to: …, format: csv}", output.To)
		}
	}
}
