package frame

import (
	"context"
	"fmt"
	"iter"
)

// Tally counts the rows of each of some values of a column, as the service sent them: duplicates count, and nothing is finalized.
type Tally struct {
	Column string
	Rows   map[string]int64 // by value; the keys say what is counted
	Other  int64            // rows with another value, or none
	Known  bool             // rows can have the column
}

// NewTally makes a tally of values of a column.
func NewTally(column string, values []string) *Tally {
	t := &Tally{Column: column, Rows: make(map[string]int64, len(values))}
	for _, value := range values {
		t.Rows[value] = 0
	}
	return t
}

// Count reads rows as Build does and counts them by the values of some columns. Errors are those of Build.
func Count(ctx context.Context, shape Shape, seen []string, chunks iter.Seq2[[]byte, error], tallies []*Tally) error {
	l, err := newLayout(shape, seen)
	if err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	reader, read := newRowReader(l), 0
	columns := make([]int, len(tallies))
	for i, t := range tallies {
		column, found := l.index[t.Column]
		t.Known = found && column != dropped
		columns[i] = column
	}
	for line, err := range lines(chunks) {
		if err == nil && read%checkEvery == 0 {
			err = context.Cause(ctx)
		}
		var row Row
		if err == nil {
			row, err = reader.read(line)
		}
		if err != nil {
			return fmt.Errorf("count rows: %w", err)
		}
		read++
		for i, t := range tallies {
			if t.Known {
				t.add(row[columns[i]])
			}
		}
	}
	return nil
}

func (t *Tally) add(v Value) {
	if n, asked := t.Rows[v.Text]; asked && !v.Null {
		t.Rows[v.Text] = n + 1
		return
	}
	t.Other++
}

// Tally counts the rows of the table, before finalize has renamed or cast a column, by the values of some columns.
func (t *Table) Tally(ctx context.Context, tallies []*Tally) error {
	columns := make([]int, len(tallies))
	for i, tally := range tallies {
		columns[i] = t.roles.place(tally.Column)
		tally.Known = columns[i] != absentRole
	}
	for stored, err := range t.records(ctx) {
		if err != nil {
			return fmt.Errorf("count rows: %w", err)
		}
		for i, tally := range tallies {
			if tally.Known {
				tally.add(stored.row[columns[i]])
			}
		}
	}
	return nil
}
