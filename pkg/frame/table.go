package frame

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Table is the finished table of a query. It does not change after Build; any number of goroutines may read it. Close gives up
// what it keeps.
type Table struct {
	Columns []Column
	Report  Report
	// Key is the names that the key's columns have in the table. A part of it that no field declares and no row has does not count.
	// There is no key when finalize or the query leaves one of its columns out: rows cannot be told apart then.
	Key []string

	view    []viewColumn
	columns int // of a stored row
	rows    *sorter
	leftOut *roaring64.Bitmap // numbers of rows that are no part of the table
	roles   roles
	watch   func(stored Row) // sees each row that is read; nil: nobody does
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
// Select follow; a column that they name, that a service may send and that no row has is null in each row. One that no field
// declares by its exact name, and whose name they give to another, is moved to NAME_source. Values convert thus, and become null and
// are counted in the report when they do not:
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
//
// What exceeds some 50 MB of rows and keys is kept in scratch until Close; nil keeps all in memory.
func Build(ctx context.Context, shape Shape, seen []string, chunks iter.Seq2[[]byte, error], scratch Scratch) (*Table, error) {
	t, err := buildWithin(ctx, usualMemory(), shape, seen, chunks, scratch)
	if err != nil {
		return nil, fmt.Errorf("build table: %w", err)
	}
	return t, nil
}

// memory bounds what a table holds.
type memory struct{ rows, keys sorterBounds }

func usualMemory() memory {
	const fanIn = 128
	return memory{rows: sorterBounds{32 << 20, fanIn}, keys: sorterBounds{16 << 20, fanIn}}
}

func buildWithin(ctx context.Context, m memory, shape Shape, seen []string, chunks iter.Seq2[[]byte, error], scratch Scratch) (*Table, error) {
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	l, err := newLayout(shape, seen)
	if err != nil {
		return nil, err
	}
	f, err := newFinalizer(shape, l.columns)
	if err != nil {
		return nil, err
	}
	if scratch == nil {
		scratch, m = inMemory{}, memory{rows: sorterBounds{math.MaxInt, 2}, keys: sorterBounds{math.MaxInt, 2}}
	}
	t := &Table{
		view: f.view, columns: len(l.columns), leftOut: roaring64.New(), rows: newSorter(scratch, m.rows),
		Report: Report{Unknown: l.unknown, Absent: f.absent},
		roles:  roles{shape.Roles, shape.newestBy(), l.columns},
	}
	for _, c := range f.view {
		t.Columns = append(t.Columns, c.Column)
		if c.movedFrom != "" {
			t.Report.Moved = append(t.Report.Moved, MovedField{c.movedFrom, c.Name})
		}
	}
	t.Key = keyNames(shape.Key, l, f.view)
	same := newDuplicates(shape, l, newSorter(scratch, m.keys))
	if len(same.key) > 0 && (f.stages[0].casts() || same.rule == FailIfDifferent && len(f.stages[0].steps) > 0) {
		// Casts count only rows that stay, and rows that must not differ are all needed to say in what they do.
		f.stages = slices.Insert(f.stages, 0, &stage{limit: noLimit})
	}
	g := gathering{table: t, stage: f.stages[0], same: same, reader: newRowReader(l)}
	if err := g.gather(ctx, chunks); err != nil {
		return nil, errors.Join(err, g.same.sorter.close(), t.Close())
	}
	for i, next := range f.stages {
		if i > 0 && !next.idle() {
			err = t.again(ctx, next, newSorter(scratch, m.rows))
		}
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.cut(next.limit)
		for _, step := range next.steps {
			if step.bad != nil && step.bad.Count > 0 {
				t.Report.Bad = append(t.Report.Bad, *step.bad)
			}
		}
	}
	t.rows.block.sort() // readers share it
	return t, nil
}

// gathering reads the rows of the results for the first time.
type gathering struct {
	table  *Table
	stage  *stage
	same   *duplicates
	reader *rowReader
}

// gather keeps the rows that are not filtered out, and then finds which of all rows are duplicates. A row is known by its number
// in position order, which also keeps the order of rows that are sorted alike.
func (g *gathering) gather(ctx context.Context, chunks iter.Seq2[[]byte, error]) error {
	t := g.table
	var key, record []byte
	for line, err := range lines(chunks) {
		if err == nil && t.Report.Read%checkEvery == 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		number := uint64(t.Report.Read)
		t.Report.Read++
		row, err := g.reader.read(line)
		if err != nil {
			return fmt.Errorf("row %d: %w", t.Report.Read, err)
		}
		record = appendRecord(record[:0], row)
		if err := g.same.add(ctx, number, row, record); err != nil {
			return err
		}
		if !g.stage.keeps(row) {
			t.leftOut.Add(number)
			continue
		}
		key = binary.BigEndian.AppendUint64(g.stage.appendKey(key[:0], row), number)
		if err := t.rows.add(ctx, key, record); err != nil {
			return err
		}
	}
	t.Report.Bad = slices.DeleteFunc(g.reader.bad, func(b BadField) bool { return b.Count == 0 })
	if err := g.leaveOut(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (g *gathering) leaveOut(ctx context.Context) error {
	t := g.table
	found, err := g.same.resolve(ctx)
	if err != nil {
		return err
	}
	if found.lowest != nil && g.same.rule == FailIfDifferent {
		return t.explain(ctx, g.same, *found.lowest)
	}
	t.Report.Replaced, t.Report.Different = found.replaced, found.different
	t.Report.Duplicates = int64(found.leftOut.GetCardinality()) - found.replaced
	t.leftOut.Or(found.leftOut)
	t.Report.Rows = t.Report.Read - int64(t.leftOut.GetCardinality())
	return nil
}

// cut leaves the first rows in their final order.
func (t *Table) cut(limit int) {
	if limit != noLimit {
		t.Report.Rows = min(t.Report.Rows, int64(limit))
	}
}

// again takes the rows that there are through one more stage.
func (t *Table) again(ctx context.Context, next *stage, rows *sorter) error {
	var key []byte
	kept := uint64(0)
	for r, err := range t.records(ctx) {
		if err == nil && next.keeps(r.row) {
			key = binary.BigEndian.AppendUint64(next.appendKey(key[:0], r.row), kept)
			err = rows.add(ctx, key, r.record)
			kept++
		}
		if err != nil {
			return errors.Join(err, rows.close())
		}
	}
	before := t.rows
	t.rows, t.leftOut, t.Report.Rows = rows, roaring64.New(), int64(kept)
	return before.close()
}

// checkEvery is how many rows pass between two looks at a context.
const checkEvery = 1024

// storedRow is a row before the view; it is valid until the next one is asked for.
type storedRow struct {
	row    Row
	record []byte
}

// records gives the stored rows in their order, as many as the table has.
func (t *Table) records(ctx context.Context) iter.Seq2[storedRow, error] {
	return func(yield func(storedRow, error) bool) {
		row := make(Row, t.columns)
		left, seen := t.Report.Rows, 0
		if left == 0 {
			return
		}
		t.rows.sorted(func(e entry, err error) bool {
			if err == nil && seen%checkEvery == 0 {
				err = context.Cause(ctx)
			}
			seen++
			if err != nil {
				yield(storedRow{}, err)
				return false
			}
			if t.leftOut.Contains(binary.BigEndian.Uint64(e.key[len(e.key)-8:])) {
				return true
			}
			record(e.payload).read(row)
			left--
			return yield(storedRow{row, e.payload}, nil) && left > 0
		})
	}
}

// Rows gives the rows in order. A row is valid until the next one is asked for; its texts stay valid. After an error,
// which is the cause of ctx or that of scratch that cannot be read, there are no more rows.
func (t *Table) Rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := make(Row, len(t.view))
		for stored, err := range t.records(ctx) {
			if err != nil {
				yield(nil, fmt.Errorf("read table: %w", err))
				return
			}
			if t.watch != nil {
				t.watch(stored.row)
			}
			for i := range t.view {
				row[i] = t.view[i].value(stored.row)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// explain finds two rows of one key again, to say in what they differ. Nothing has been filtered out yet: see buildWithin.
func (t *Table) explain(ctx context.Context, same *duplicates, pair twins) error {
	found := map[uint64]Row{}
	var failed error
	t.rows.sorted(func(e entry, err error) bool {
		number := binary.BigEndian.Uint64(e.key[len(e.key)-8:])
		if failed = err; err == nil && (number == pair.first || number == pair.second) {
			found[number] = make(Row, t.columns)
			record(e.payload).read(found[number])
		}
		return err == nil && len(found) < 2 && context.Cause(ctx) == nil
	})
	if err := errors.Join(failed, context.Cause(ctx)); err != nil {
		return err
	}
	return fmt.Errorf("row %d: %w", pair.second+1, same.difference(found[pair.first], found[pair.second]))
}

// Close gives up what the table keeps. No row can be read afterwards.
func (t *Table) Close() error {
	if err := t.rows.close(); err != nil {
		return fmt.Errorf("close table: %w", err)
	}
	return nil
}
