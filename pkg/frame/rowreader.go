package frame

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// ErrBadRow is wrapped when stored rows are not what a committed result can hold: a line that is no JSON object, a
// member twice, a member that the results' headers do not name.
var ErrBadRow = errors.New("bad row")

// maxRowBytes bounds one row.
const maxRowBytes = 16 << 20

// rowReader reads JSON lines into rows of the stored columns.
type rowReader struct {
	layout *layout
	row    Row
	isSet  []bool // the row has the member
	bad    []BadField
	err    error
}

func newRowReader(l *layout) *rowReader {
	r := &rowReader{layout: l, row: make(Row, len(l.columns)), isSet: make([]bool, len(l.columns))}
	for _, c := range l.columns {
		r.bad = append(r.bad, BadField{Name: c.Name, Type: c.Type})
	}
	return r
}

// lines gives the lines of all chunks that are not empty. A line is valid until the next one is asked for.
func lines(chunks iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for chunk, err := range chunks {
			if err != nil {
				yield(nil, fmt.Errorf("read rows: %w", err))
				return
			}
			for line := range bytes.Lines(chunk) {
				line = bytes.TrimSpace(line)
				if len(line) > 0 && !yield(line, nil) {
					return
				}
			}
		}
	}
}

// read gives the row of a line; it is valid until the next call.
func (r *rowReader) read(line []byte) (Row, error) {
	if len(line) > maxRowBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrBadRow, len(line), maxRowBytes)
	}
	if !utf8.Valid(line) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrBadRow)
	}
	text := string(line)
	if text[0] != '{' || !isJSON(text) {
		return nil, fmt.Errorf("%w: not a JSON object, or nested deeper than %d: %.40q", ErrBadRow, maxDepth, text)
	}
	for i := range r.row {
		r.row[i] = Value{Null: true}
		r.isSet[i] = false
	}
	r.err = nil
	gjson.Parse(text).ForEach(r.member)
	return r.row, r.err
}

// member takes one member of the row and tells whether to go on.
func (r *rowReader) member(key, value gjson.Result) bool {
	i, known := r.layout.index[key.Str]
	if !known {
		r.err = fmt.Errorf("%w: member %q, which no result's header names", ErrBadRow, clip(key.Str))
		return false
	}
	if i == dropped {
		return true
	}
	if r.isSet[i] {
		r.err = fmt.Errorf("%w: member %q twice", ErrBadRow, clip(key.Str))
		return false
	}
	r.isSet[i] = true
	r.row[i] = r.value(i, value)
	return true
}

func (r *rowReader) value(i int, value gjson.Result) Value {
	if value.Type == gjson.Null {
		return Value{Null: true}
	}
	column := &r.layout.columns[i]
	text := value.Raw
	if value.Type == gjson.String {
		text = value.Str
	}
	if slices.Contains(column.null, text) {
		return Value{Null: true}
	}
	if column.Type == JSON {
		return Value{Text: value.Raw}
	}
	stored := text
	if column.zone != "" && !fits(Timestamp, text) {
		stored += column.zone
	}
	if !isText(value) || !fits(column.Type, stored) {
		r.bad[i].add(text)
		return Value{Null: true}
	}
	return Value{Text: stored}
}
