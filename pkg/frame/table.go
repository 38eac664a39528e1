package frame

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// Table is the finished table of a query. It does not change after Build; any number of goroutines may read it.
type Table struct {
	Columns []Column
	Report  Report

	view    []viewColumn
	columns int // of a stored row
	records []record
}

// Build makes the table of all rows of a query.
//
// The chunks are the rows of the results in position order, as JSON lines: one object a row, values in the server's
// text. How rows are divided into chunks does not matter, except that a line does not go over the end of a chunk; a
// chunk's bytes may be used again once the next one is asked for. Seen is the names of the members, as the results'
// headers give them, in position order.
//
// Every exactly declared field is a column, whether rows have it or not, in the order of declaration; then come the
// fields that a star declares and the unknown ones, as far as they were seen, each in first-seen order. Finalize and
// Select follow; a column that they name, that a service may send and that no row has is null in each row. Values convert thus, and become null and are counted in the report when they do not:
//
//   - JSON null, an absent member and the field's null texts are null, and are not counted;
//   - a JSON string stands for the text that it holds, for every type but json: "20.2" is a decimal;
//   - text takes everything; numbers, lists and objects keep the text that the server sent;
//   - no type but json takes a string with half a surrogate pair (\ud83d), which is no text;
//   - int64 takes integers, also as 3.0, not as 3e0; float64 and decimal take what a 64-bit float can hold, without
//     NaN and infinity; bool takes true and false in any case of letters;
//   - date takes YYYY-MM-DD; timestamp takes ISO 8601 with an explicit offset;
//   - list_text takes a JSON list of strings; json any JSON value; geometry a GeoJSON geometry.
//
// Errors wrap ErrShape, ErrUnknownField, ErrBadRow, ErrDifferentDuplicates, the error of chunks, or the cause of ctx.
func Build(ctx context.Context, shape Shape, seen []string, chunks iter.Seq2[[]byte, error]) (*Table, error) {
	if err := shape.Validate(); err != nil {
		return nil, fmt.Errorf("build table: %w", err)
	}
	l, err := newLayout(shape, seen)
	if err != nil {
		return nil, fmt.Errorf("build table: %w", err)
	}
	f, err := newFinalizer(shape, l.columns)
	if err != nil {
		return nil, fmt.Errorf("build table: %w", err)
	}
	t := &Table{view: f.view, columns: len(l.columns), Report: Report{Unknown: l.unknown, Absent: f.absent}}
	for _, c := range f.view {
		t.Columns = append(t.Columns, c.Column)
	}
	if err := t.gather(ctx, shape, l, chunks); err != nil {
		return nil, fmt.Errorf("build table: %w", err)
	}
	for _, run := range f.steps {
		if err := run(ctx, t); err != nil {
			return nil, fmt.Errorf("build table: %w", err)
		}
	}
	t.Report.Rows = int64(len(t.records))
	return t, nil
}

// gather stores the rows, without duplicates.
func (t *Table) gather(ctx context.Context, shape Shape, l *layout, chunks iter.Seq2[[]byte, error]) error {
	reader, same := newRowReader(l), newDuplicates(shape, l)
	var stored slabs
	var data []byte
	replaced := false
	for line, err := range lines(chunks) {
		if err == nil && t.Report.Read%checkEvery == 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		t.Report.Read++
		row, err := reader.read(line)
		if err != nil {
			return fmt.Errorf("row %d: %w", t.Report.Read, err)
		}
		data = appendRecord(data[:0], row)
		judged, err := same.judge(row, data, t.records)
		if err != nil {
			return fmt.Errorf("row %d: %w", t.Report.Read, err)
		}
		if judged.leaveOut {
			t.Report.Duplicates++
			continue
		}
		if judged.replaces >= 0 {
			t.Report.Duplicates++
			t.records[judged.replaces] = ""
			replaced = true
		}
		t.records = append(t.records, record(stored.keep(data)))
	}
	if replaced {
		t.records = slices.DeleteFunc(t.records, func(r record) bool { return r == "" })
	}
	t.Report.Bad = slices.DeleteFunc(reader.bad, func(b BadField) bool { return b.Count == 0 })
	return context.Cause(ctx)
}

// checkEvery is how many rows pass between two looks at a context.
const checkEvery = 1024

// stored gives the stored rows; a row is valid until the next one is asked for.
func (t *Table) stored(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := make(Row, t.columns)
		for i, r := range t.records {
			if i%checkEvery == 0 && ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			r.read(row)
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Rows gives the rows in order. A row is valid until the next one is asked for; its texts stay valid. After an error,
// which is the cause of ctx or that of a store that cannot be read, there are no more rows.
func (t *Table) Rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := make(Row, len(t.view))
		for stored, err := range t.stored(ctx) {
			if err != nil {
				yield(nil, fmt.Errorf("read table: %w", err))
				return
			}
			for i := range t.view {
				row[i] = t.view[i].value(stored)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}
