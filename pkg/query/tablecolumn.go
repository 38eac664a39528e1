package query

import (
	"errors"
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// ErrColumn reports a column of a table that gives no values to another query.
var ErrColumn = errors.New("no values")

// ColumnReader reads one column of a table that is written to it as CSV, as Braid writes CSV: a header, every row with as many
// fields, a field in quotes where it is more than plain text. It keeps the distinct values in their order and as exact text, and
// passes over null and empty text. Its memory is bounded by the values it keeps, whatever else the table holds.
type ColumnReader struct {
	column string
	index  int      // of the column; -1: the header has not ended
	names  []string // of the columns, as long as the header has not ended
	width  int      // columns of the table

	at    int // field of the row under way
	state fieldState
	text  []byte // of the field under way, as far as it is wanted

	values []string
	seen   map[string]struct{}
	bytes  int // of values
	limits columnLimits
}

// columnLimits bound what a column may hold.
type columnLimits struct{ values, bytes, header int }

type fieldState int

const (
	fieldBegins fieldState = iota
	fieldBare
	fieldQuoted
	fieldQuote // a quote inside quotes: the end of the field, or the first of two
)

const maxHeaderBytes = 4 << 20

// NewColumnReader reads the column with this name.
func NewColumnReader(column string) *ColumnReader {
	return &ColumnReader{
		column: column, index: -1, seen: map[string]struct{}{},
		limits: columnLimits{values: service.MaxValues, bytes: MaxSpecBytes, header: maxHeaderBytes},
	}
}

// Write reads the next part of the table. An error wraps ErrColumn: the table has no such column, it has more values than a query may
// have, or it is no table.
func (r *ColumnReader) Write(p []byte) (int, error) {
	for i, b := range p {
		if err := r.read(b); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

func (r *ColumnReader) read(b byte) error {
	switch {
	case r.state == fieldQuoted && b != '"':
		return r.keep(b)
	case r.state == fieldQuoted:
		r.state = fieldQuote
		return nil
	case r.state == fieldQuote && b == '"':
		r.state = fieldQuoted
		return r.keep(b)
	case b == ',':
		return r.endField()
	case b == '\n':
		return errors.Join(r.endField(), r.endRow())
	case r.state == fieldQuote, b == '"' && r.state != fieldBegins:
		return fmt.Errorf("%w: what came is no CSV: a quote stands where none may", ErrColumn)
	case b == '"':
		r.state = fieldQuoted
		return nil
	}
	r.state = fieldBare
	return r.keep(b)
}

// keep takes a byte of the field under way, where the field is wanted.
func (r *ColumnReader) keep(b byte) error {
	switch {
	case r.index < 0:
		if err := r.count(); err != nil {
			return err
		}
	case r.at != r.index:
		return nil
	case len(r.text)+r.bytes >= r.limits.bytes:
		return fmt.Errorf("%w: the values of the column %q have more than %d bytes together", ErrColumn, r.column, r.limits.bytes)
	}
	r.text = append(r.text, b)
	return nil
}

func (r *ColumnReader) endField() error {
	text, wanted := r.text, r.at == r.index && len(r.text) > 0
	r.at, r.state, r.text = r.at+1, fieldBegins, r.text[:0]
	switch {
	case r.index < 0:
		r.names = append(r.names, string(text))
		return r.count()
	case wanted:
		return r.add(text)
	}
	return nil
}

// count takes a byte of the header, or a name of it, which costs memory even when it is empty.
func (r *ColumnReader) count() error {
	if r.bytes++; r.bytes > r.limits.header {
		return fmt.Errorf("%w: the names of the table's columns have more than %d bytes", ErrColumn, r.limits.header)
	}
	return nil
}

func (r *ColumnReader) add(text []byte) error {
	if _, twice := r.seen[string(text)]; twice {
		return nil
	}
	if len(r.values) == r.limits.values {
		return fmt.Errorf("%w: the column %q has more than %d different values, and a query takes no more", ErrColumn, r.column, r.limits.values)
	}
	value := string(text)
	r.seen[value] = struct{}{}
	r.values = append(r.values, value)
	r.bytes += len(value)
	return nil
}

func (r *ColumnReader) endRow() error {
	at := r.at
	r.at = 0
	if r.index >= 0 {
		if at != r.width {
			return fmt.Errorf("%w: what came is no table: a row has %d fields, and the header %d", ErrColumn, at, r.width)
		}
		return nil
	}
	if r.index = slices.Index(r.names, r.column); r.index < 0 {
		return fmt.Errorf("%w: the table has no column %q%s", ErrColumn, r.column, strictyaml.DidYouMean(r.column, r.names))
	}
	r.width, r.names, r.bytes = at, nil, 0
	return nil
}

// Values gives the values, when the table has been written as a whole. They are none when each one of the column is null. An error
// wraps ErrColumn.
func (r *ColumnReader) Values() ([]string, error) {
	if r.index < 0 || r.at > 0 || r.state != fieldBegins || len(r.text) > 0 {
		return nil, fmt.Errorf("%w: the table broke off", ErrColumn)
	}
	return r.values, nil
}
