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

// ErrValueFile reports a file of values that cannot be used.
var ErrValueFile = errors.New("unusable file of values")

func (f *ValueFile) values(data []byte) ([]string, error) {
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d", ErrValueFile, f.Path, len(data), MaxFileBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: %s is not UTF-8 text", ErrValueFile, f.Path)
	}
	read := f.lines
	if f.Column != "" {
		read = f.column
	}
	list, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrValueFile, f.Path, err)
	}
	list = slices.DeleteFunc(list, func(value string) bool { return value == "" })
	switch {
	case len(list) == 0:
		return nil, fmt.Errorf("%w: %s has no value", ErrValueFile, f.Path)
	case len(list) > service.MaxValues:
		return nil, fmt.Errorf("%w: %s has %d values, at most %d", ErrValueFile, f.Path, len(list), service.MaxValues)
	}
	for i, value := range list {
		if !strings.HasPrefix(value, f.Prefix) {
			list[i] = f.Prefix + value
		}
	}
	return list, nil
}

// lines reads one value a line. A first line with a separator is that of a table, of which a column is wanted.
func (f *ValueFile) lines(data []byte) ([]string, error) {
	var list []string
	for line := range strings.Lines(string(data)) {
		value := strings.TrimSpace(line)
		if len(list) == 0 && strings.ContainsAny(value, separators) {
			return nil, fmt.Errorf("its first line is %.80q, so it is a table; name the column that holds the values, as column: NAME", value)
		}
		if value != "" {
			list = append(list, value)
		}
	}
	return list, nil
}

const separators = ",;\t"

// separator is that of the file's table: a tab in a .tsv file, else a comma.
func (f *ValueFile) separator() rune {
	if strings.HasSuffix(strings.ToLower(f.Path), ".tsv") {
		return '\t'
	}
	return ','
}

// column reads one column of a table with a header.
func (f *ValueFile) column(data []byte) ([]string, error) {
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord = -1 // of a ragged table only the wanted column matters
	reader.ReuseRecord = true
	reader.Comma = f.separator()
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty; the first line names the columns")
	}
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	index, err := columnIndex(header, f.Column)
	if err != nil {
		return nil, cmp.Or(f.otherSeparator(header), err)
	}
	var list []string
	for {
		record, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("read a row: %w", err)
		case index >= len(record):
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("line %d has %d fields and ends before the column %q", line, len(record), f.Column)
		}
		list = append(list, strings.Clone(strings.TrimSpace(record[index])))
	}
}

// otherSeparator reports a header that is one field to the reader and several to a person.
func (f *ValueFile) otherSeparator(header []string) error {
	if len(header) != 1 {
		return nil
	}
	i := strings.IndexAny(header[0], separators)
	if i < 0 {
		return nil
	}
	switch header[0][i] {
	case ';':
		return errors.New("its columns are separated by semicolons, which are not read; save it with commas between them")
	case '\t':
		return errors.New("its columns are separated by tabs; let its name end in .tsv")
	}
	return errors.New("its columns are separated by commas, and its name ends in .tsv; let it end in .csv")
}

func columnIndex(header []string, column string) (int, error) {
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(name)
	}
	index := slices.Index(names, column)
	switch {
	case index < 0:
		return 0, fmt.Errorf("it has no column %q%s", column, strictyaml.DidYouMean(column, names))
	case slices.Contains(names[index+1:], column):
		return 0, fmt.Errorf("it has the column %q more than once", column)
	}
	return index, nil
}
