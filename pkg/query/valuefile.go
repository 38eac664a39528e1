package query

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// fileValues are the values of one file, with the line of each.
type fileValues struct {
	values []string
	lines  []int32
}

func (v *fileValues) add(value string, line int) {
	if value != "" {
		v.values = append(v.values, value)
		v.lines = append(v.lines, int32(line))
	}
}

// lineError is what is wrong with one line of a file of values; 0 is the file as a whole.
type lineError struct {
	line    int
	problem string
}

func (e *lineError) Error() string { return e.problem }

func wrongLine(line int, format string, args ...any) error {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

// maxWrongLines is how many wrong lines of one file are told.
const maxWrongLines = 10

// read gives the values in the data of the file. The errors are *lineError; fix is how a person names a column.
func (f *ValueFile) read(data []byte, fix, parameter string, accepts func(parameter, value string) bool) (list fileValues, errs []error) {
	if len(data) > MaxFileBytes {
		return list, []error{wrongLine(0, "the file has %d bytes, at most %d", len(data), MaxFileBytes)}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return list, []error{wrongLine(firstNotUTF8(data), "the file is not UTF-8 text; save it as UTF-8")}
	}
	if table, is := fromRDB(data); is {
		named := *f
		named.Path += ".tsv" // which is what it is by now
		f, data = &named, table
	}
	if f.Column != "" {
		list, errs = f.readColumn(data)
	} else {
		list, errs = f.readLines(data, fix, parameter, accepts)
	}
	switch {
	case len(errs) > 0:
		return list, errs
	case len(list.values) == 0:
		return list, []error{wrongLine(0, "the file has no value")}
	case len(list.values) > service.MaxValues:
		return list, []error{wrongLine(0, "the file has %d values, at most %d", len(list.values), service.MaxValues)}
	}
	putPrefix(list.values, f.Prefix)
	return list, nil
}

// putPrefix puts a prefix before each value that does not begin with it.
func putPrefix(values []string, prefix string) {
	for i, value := range values {
		if !strings.HasPrefix(value, prefix) {
			values[i] = prefix + value
		}
	}
}

func firstNotUTF8(data []byte) int {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if !utf8.Valid(text) {
			break
		}
	}
	return line
}

// readLines reads one value a line. A file whose first line has a separator is a table, and so is one that is called like a table,
// unless its first line is clearly a value: the first line of a table names columns, and a name would be asked for like a value.
func (f *ValueFile) readLines(data []byte, fix, parameter string, accepts func(parameter, value string) bool) (list fileValues, errs []error) {
	isHeader := func(value string) bool {
		return strings.ContainsAny(value, separators) || strings.EqualFold(value, parameter) || strings.EqualFold(value, "site_no") ||
			f.isTable() && !f.isValue(value, parameter, accepts)
	}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		value := strings.TrimSpace(text)
		if f.isTable() {
			value = unquoted(value)
		}
		if len(list.values) == 0 && value != "" && isHeader(value) {
			return list, []error{wrongLine(line, "the first line is %.80q, so the file is a table%s; name the column that holds the values, as %s%s",
				value, f.byName(), fix, f.columnsIn(value))}
		}
		if f.isTable() && strings.ContainsAny(value, separators) {
			return list, []error{wrongLine(line, "the line has several columns, and the first one has one value; let the first line name the columns, and name the one that holds the values, as %s", fix)}
		}
		list.add(value, line)
	}
	return list, nil
}

// isValue tells whether the first line of a table of one column is a value and cannot be the column's name: the parameter takes
// it, and it would not take its own name, or no column is called so.
func (f *ValueFile) isValue(first, parameter string, accepts func(parameter, value string) bool) bool {
	takes := func(value string) bool {
		if !strings.HasPrefix(value, f.Prefix) {
			value = f.Prefix + value
		}
		return accepts(parameter, value)
	}
	own := strings.TrimPrefix(first, f.Prefix)
	switch {
	case accepts == nil || !takes(first):
		return false
	case takes(parameter):
		return strings.Trim(own, "0123456789+-.") == ""
	case takes(strings.ReplaceAll(parameter, "_", "-")), takes(parameter + "-id"): // which is how some people write names of columns
		return strings.ContainsAny(own, "0123456789")
	}
	return true
}

// unquoted gives the text of a field that a table has in quotes.
func unquoted(field string) string {
	if len(field) < 2 || field[0] != '"' || field[len(field)-1] != '"' {
		return field
	}
	return strings.ReplaceAll(field[1:len(field)-1], `""`, `"`)
}

// isTable tells whether the file is called like a table.
func (f *ValueFile) isTable() bool {
	name := strings.ToLower(f.Path)
	return strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".tsv")
}

// byName tells how a table without a separator is known, and how one is not.
func (f *ValueFile) byName() string {
	if !f.isTable() {
		return ""
	}
	return " by its name, and its first line may name the columns (a file with one value a line is called .txt)"
}

// columnsIn lists the columns that a header names.
func (f *ValueFile) columnsIn(header string) string {
	reader := csv.NewReader(strings.NewReader(header))
	reader.Comma = f.separator()
	names, err := reader.Read()
	const most = 40
	if err != nil || len(names) > most {
		return ""
	}
	for i := range names {
		names[i] = clipped(strings.TrimSpace(names[i]))
	}
	return "; its columns are " + strings.Join(names, ", ")
}

func clipped(name string) string { return fmt.Sprintf("%.40s", name) }

const separators = ",;\t"

// separator is that of the file's table: a tab in a .tsv file, else a comma.
func (f *ValueFile) separator() rune {
	if strings.HasSuffix(strings.ToLower(f.Path), ".tsv") {
		return '\t'
	}
	return ','
}

// readColumn reads one column of a table with a header.
func (f *ValueFile) readColumn(data []byte) (list fileValues, errs []error) {
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord = -1 // of a ragged table only the wanted column matters
	reader.ReuseRecord = true
	reader.Comma = f.separator()
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return list, []error{wrongLine(0, "the file is empty; its first line names the columns")}
	}
	if err != nil {
		return list, []error{broken("the header", err)}
	}
	line, _ := reader.FieldPos(0)
	index, err := columnIndex(header, f.Column, line)
	if err != nil {
		return list, []error{cmp.Or(f.otherSeparator(header, line), err)}
	}
	short := 0
	for {
		record, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			if short > maxWrongLines {
				errs = append(errs, wrongLine(0, "and %d more rows are too short", short-maxWrongLines))
			}
			return list, errs
		case err != nil:
			return list, append(errs, broken("a row", err))
		case index >= len(record):
			line, _ := reader.FieldPos(0)
			if short++; short <= maxWrongLines {
				errs = append(errs, wrongLine(line, "the row has %d fields and ends before the column %q", len(record), f.Column))
			}
			continue
		}
		line, _ := reader.FieldPos(index)
		list.add(strings.Clone(strings.TrimSpace(record[index])), line)
	}
}

func broken(what string, err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return wrongLine(parse.StartLine, "%s cannot be read: %s", what, parse.Err)
	}
	return wrongLine(0, "%s cannot be read: %s", what, err)
}

// otherSeparator reports a header that is one field to the reader and several to a person.
func (f *ValueFile) otherSeparator(header []string, line int) error {
	if len(header) != 1 {
		return nil
	}
	i := strings.IndexAny(header[0], separators)
	if i < 0 {
		return nil
	}
	switch header[0][i] {
	case ';':
		return wrongLine(line, "the columns are separated by semicolons, which are not read; save the file with commas between them")
	case '\t':
		return wrongLine(line, "the columns are separated by tabs; let the file's name end in .tsv")
	}
	return wrongLine(line, "the columns are separated by commas, and the file's name ends in .tsv; let it end in .csv")
}

func columnIndex(header []string, column string, line int) (int, error) {
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(name)
	}
	index := slices.Index(names, column)
	switch {
	case index < 0:
		return 0, wrongLine(line, "there is no column %q%s", column, strictyaml.DidYouMean(column, names))
	case slices.Contains(names[index+1:], column):
		return 0, wrongLine(line, "the column %q stands more than once", column)
	}
	return index, nil
}
