package service

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// tableColumn is a column of the rows: its name, that name as a member of an object, and where its values stand.
type tableColumn struct {
	name  string
	key   string
	index int // -1: nowhere, they are null
}

// writeTable writes the lines of a table as rows: the first line names the columns, values are texts as they were sent. A
// table without a column that the definition declares is none: nearly every text is a table of some kind, also the message
// of an error.
func (w *rowWriter) writeTable(text []byte) error {
	if start := bytes.TrimSpace(text); len(start) == 0 || bytes.IndexByte([]byte("<{["), start[0]) >= 0 {
		return notRows(formatCSV, text, "no header with names of columns", nil)
	}
	reader := csvReader{text: text, separator: w.rule.separator, comment: w.rule.comment}
	found, err := reader.record()
	if err != nil || !found {
		return tableError(text, err)
	}
	header := make([]string, len(reader.fields))
	for i, name := range reader.fields {
		header[i] = string(name)
	}
	columns, unnamed, err := w.tableColumns(text, header)
	if err != nil {
		return err
	}
	for {
		if found, err = reader.record(); err != nil {
			return tableError(text, err)
		}
		if !found {
			return nil
		}
		if got := len(reader.fields); got != len(header) {
			problem := fmt.Sprintf("line %d has %d values, and the header %d", reader.begin, got, len(header))
			return tableError(text, &csvError{problem: problem, cutOff: reader.ended && got < len(header)})
		}
		for _, i := range unnamed {
			if len(reader.fields[i]) > 0 {
				return badPage("line %d has a value in column %d, which the header does not name", reader.begin, i+1)
			}
		}
		if err := w.writeFields(columns, reader.fields); err != nil {
			return err
		}
	}
}

func tableError(text []byte, err error) error {
	var damaged *csvError
	switch {
	case !errors.As(err, &damaged):
		return notRows(formatCSV, text, "no header with names of columns", err)
	case damaged.cutOff:
		return &ResponseError{Class: ClassTransient, Message: fmt.Sprintf("CSV that is cut off after %d bytes: %s", len(text), damaged.problem), Err: err}
	}
	return badPage("%s", damaged.problem)
}

// tableColumns gives the columns that stay, under their names in the rows, and the places of those without a name.
func (w *rowWriter) tableColumns(text []byte, header []string) (columns []tableColumn, unnamed []int, err error) {
	places := make(map[string]int, len(header))
	for i, name := range header {
		if name == "" {
			unnamed = append(unnamed, i)
			continue
		}
		if w.rule.snake {
			name = snakeCase(name)
		}
		if _, twice := places[name]; twice {
			return nil, nil, badPage("the header names the column %.100q twice", name)
		}
		places[name] = i
		columns = append(columns, tableColumn{name: name, index: i})
	}
	columns = w.renamed(columns, places)
	if !slices.ContainsFunc(columns, func(c tableColumn) bool { return w.rule.fields.has(c.name) }) {
		return nil, nil, notRows(formatCSV, text, "its header has no column that the definition declares", nil)
	}
	for _, column := range columns {
		if w.rule.unknown == frame.UnknownFail && !w.rule.fields.has(column.name) {
			return nil, nil, badPage("the table has the column %.100q, which the definition does not declare", column.name)
		}
	}
	columns = slices.DeleteFunc(columns, func(c tableColumn) bool {
		return w.rule.unknown == frame.UnknownDrop && !w.rule.fields.has(c.name)
	})
	for i := range columns {
		columns[i].key = jsonText(columns[i].name) + ":"
	}
	return columns, unnamed, nil
}

// renamed appends the columns that are read from another one, which does not stay under its old name unless it is
// declared.
func (w *rowWriter) renamed(columns []tableColumn, places map[string]int) []tableColumn {
	for _, field := range w.rule.from {
		index, ok := places[field.path.steps[0].name]
		taken := slices.IndexFunc(columns, func(c tableColumn) bool { return c.name == field.name })
		switch {
		case taken >= 0:
			columns[taken].index = -1
			if ok {
				columns[taken].index = index
			}
		case ok:
			columns = append(columns, tableColumn{name: field.name, index: index})
		}
	}
	return slices.DeleteFunc(columns, func(c tableColumn) bool {
		return !w.rule.fields.has(c.name) &&
			slices.ContainsFunc(w.rule.from, func(f fromField) bool { return f.path.steps[0].name == c.name })
	})
}

func (w *rowWriter) writeFields(columns []tableColumn, fields [][]byte) error {
	if err := w.begin(); err != nil {
		return err
	}
	for i, column := range columns {
		if w.rows == 0 {
			if err := w.see(column.name); err != nil {
				return err
			}
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, column.key...)
		if column.index < 0 {
			w.out = append(w.out, "null"...)
			continue
		}
		w.out = appendQuoted(w.out, fields[column.index])
	}
	return w.end()
}

// appendQuoted writes UTF-8 text as a JSON string that differs from it by no more than it must.
func appendQuoted(out, text []byte) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// checkTableFields refuses what a table has no place for.
func (c *Collection) checkTableFields(n strictyaml.Node) {
	if c.rows.format != formatCSV {
		return
	}
	for _, field := range c.rows.from {
		if steps := field.path.steps; len(steps) != 1 || steps[0].kind != stepMember {
			n.At(field.name, "from").Fail("%s does not name one column of a table; write $.name or $['a name']", field.path)
		}
	}
}
