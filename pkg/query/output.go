package query

import (
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Output is one place where the table goes.
type Output struct {
	To         string   `yaml:"to,required"` // path relative to the query file, - for standard output, or postgres:[SCHEMA.]TABLE
	Format     Format   `yaml:"format"`      // default: by the path's ending; a table in PostgreSQL has none
	IfExists   IfExists `yaml:"if_exists"`   // what becomes of a file or table that is there
	Connection string   `yaml:"connection"`  // name of the database's connection: BRAID_POSTGRES_URL_NAME says how to connect; empty: BRAID_POSTGRES_URL
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

// IfExists says what becomes of a file, or of a table in PostgreSQL, that is there already.
type IfExists string

// The rules for what exists. The last three are for tables in PostgreSQL.
const (
	IfExistsFail      IfExists = "fail"
	IfExistsReplace   IfExists = "replace"
	IfExistsAppend    IfExists = "append"
	IfExistsAppendNew IfExists = "append_new"
	IfExistsUpsert    IfExists = "upsert"
)

// Choices lists the rules.
func (IfExists) Choices() []string {
	return []string{string(IfExistsFail), string(IfExistsReplace), string(IfExistsAppend), string(IfExistsAppendNew), string(IfExistsUpsert)}
}

// ForFiles tells whether a rule is one for files too.
func (e IfExists) ForFiles() bool { return e == IfExistsFail || e == IfExistsReplace }

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
		if _, is, err := ParsePostgres(output.To); is {
			output.checkPostgres(err, at)
			continue
		}
		if output.Format == "" {
			output.Format = formatOf(strings.ToLower(output.To[strings.LastIndexByte(output.To, '.')+1:]))
		}
		switch {
		case output.To == "": // told already
		case output.Connection != "":
			at.Fail("connection is for tables in PostgreSQL (to: postgres:TABLE); remove it")
		case !slices.Contains(output.IfExists.Choices(), string(output.IfExists)): // told already
		case !output.IfExists.ForFiles():
			at.Fail("if_exists: %s is for tables in PostgreSQL (to: postgres:TABLE); allowed for files are fail, replace", output.IfExists)
		case output.Format == "":
			at.Fail("the format is not told by the name %.80q; let it end in .parquet, .csv, .jsonl, .arrow or .geojson, or write {to: …, format: csv}", output.To)
		}
	}
}

func (o *Output) checkPostgres(err error, at strictyaml.Node) {
	if err != nil {
		at.Fail("%s", err)
	}
	if o.Format != "" {
		at.Fail("a table in PostgreSQL has no format; remove it")
	}
	if err := CheckConnection(o.Connection); err != nil {
		at.Fail("%s", err)
	}
}
