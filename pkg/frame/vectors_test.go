package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedTable is rows as the vectors write them. Cells stay the bytes that they are.
type recordedTable struct {
	Columns []string
	Rows    [][]json.RawMessage
}

// combineCase is frames that the recorded client combined, in position order, and what came of it.
type combineCase struct {
	ID, Kind string
	In       struct{ Frames []recordedTable }
	Expect   recordedTable
}

func combineCases(t *testing.T) []combineCase {
	t.Helper()
	data, err := os.ReadFile("testdata/combine.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var cases []combineCase
	for _, raw := range file.Cases {
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != "combine" {
			continue // pages and column names are of pkg/service; of `responses` see there
		}
		var c combineCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// line is a row as a result stores it.
func (r recordedTable) line(row []json.RawMessage) string {
	members := make([]string, len(row))
	for i, cell := range row {
		members[i] = fmt.Sprintf("%q:%s", r.Columns[i], cell)
	}
	return "{" + strings.Join(members, ",") + "}\n"
}

// stored gives the frames as results hold them: only rows tell of columns, so that a frame without any has none.
func (c combineCase) stored() (seen, chunks []string) {
	for _, frame := range c.In.Frames {
		var chunk strings.Builder
		for _, row := range frame.Rows {
			chunk.WriteString(frame.line(row))
		}
		chunks = append(chunks, chunk.String())
		if len(frame.Rows) > 0 {
			seen = append(seen, frame.Columns...)
		}
	}
	return seen, chunks
}

// textOf is the text of a cell, as this package holds it: a JSON text without its quotes, all else as it is spelled.
func textOf(t *testing.T, cell json.RawMessage) Value {
	t.Helper()
	switch {
	case string(cell) == "null":
		return Value{Null: true}
	case cell[0] == '"':
		var text string
		if err := json.Unmarshal(cell, &text); err != nil {
			t.Fatal(err)
		}
		return Value{Text: text}
	}
	return Value{Text: string(cell)}
}

// combined is what this package owes, worked out in the plainest way: all rows in position order, under the columns in the order
// in which rows brought them, but for those whose id an earlier row has, whichever chunk that was in. ids compare by same.
func (c combineCase) combined(t *testing.T, same func(cell json.RawMessage) string) (columns []string, rows []Row) {
	t.Helper()
	ids := map[string]bool{}
	for _, frame := range c.In.Frames {
		if len(frame.Rows) == 0 {
			continue
		}
		for _, name := range frame.Columns {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	for _, frame := range c.In.Frames {
		for _, cells := range frame.Rows {
			row := make(Row, len(columns))
			for i, name := range columns {
				row[i] = Value{Null: true}
				if at := slices.Index(frame.Columns, name); at >= 0 {
					row[i] = textOf(t, cells[at])
				}
			}
			if at := slices.Index(frame.Columns, "id"); at >= 0 && string(cells[at]) != "null" {
				key := same(cells[at])
				if ids[key] {
					continue
				}
				ids[key] = true
			}
			rows = append(rows, row)
		}
	}
	return columns, rows
}

// sameText compares ids by the texts that are sent, as an id that is declared text, or not declared, is compared.
func sameText(t *testing.T) func(json.RawMessage) string {
	return func(cell json.RawMessage) string { return textOf(t, cell).Text }
}

// sameTyped compares ids as the client does: 1 is 1.0 and is not "1" (U-5.3).
func sameTyped(cell json.RawMessage) string {
	if number, err := strconv.ParseFloat(string(cell), 64); err == nil {
		return fmt.Sprint(number)
	}
	return string(cell)
}

func TestChunksAreCombinedAsTheRecordedClientCombinesThem(t *testing.T) {
	for _, c := range combineCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			seen, chunks := c.stored()
			shape := Shape{Key: []string{"id"}}
			table := build(t, shape, seen, chunks...)
			columns, rows := c.combined(t, sameText(t))
			if diff := cmp.Diff(columns, namesOf(table)); diff != "" {
				t.Errorf("columns:\n%s", diff)
			}
			if diff := cmp.Diff(rows, rowsOf(t, table)); diff != "" {
				t.Errorf("rows:\n%s", diff)
			}
			// How many chunks the rows came in makes no difference.
			if diff := cmp.Diff(tableText(t, table), tableText(t, build(t, shape, seen, strings.Join(chunks, "")))); diff != "" {
				t.Errorf("in one chunk:\n%s", diff)
			}
			c.checkDeclared(t, columns, rows)
			c.checkRecorded(t)
		})
	}
}

func namesOf(table *Table) []string {
	var names []string
	for _, column := range table.Columns {
		names = append(names, column.Name)
	}
	return names
}

// checkDeclared says that declared columns have the order and the types of the declaration, whatever came and in which order:
// here the reverse of what came, with a column that no row has, and whole numbers that stay whole beside gaps.
func (c combineCase) checkDeclared(t *testing.T, columns []string, rows []Row) {
	t.Helper()
	shape := Shape{Key: []string{"id"}}
	for _, name := range slices.Backward(columns) {
		kind := Int64
		if name == "id" || !c.whole(name) {
			kind = Text
		}
		shape.Fields = append(shape.Fields, Field{Name: name, Type: kind})
	}
	shape.Fields = append(shape.Fields, Field{Name: "never", Type: Date})
	want := make([]Row, len(rows))
	for i, row := range rows {
		want[i] = slices.Clone(row)
		slices.Reverse(want[i])
		want[i] = append(want[i], Value{Null: true})
	}
	seen, chunks := c.stored()
	table := build(t, shape, seen, chunks...)
	var names []string
	for _, field := range shape.Fields {
		names = append(names, field.Name)
	}
	if diff := cmp.Diff(names, namesOf(table)); diff != "" {
		t.Errorf("declared columns:\n%s", diff)
	}
	if got := rowsOf(t, table); len(got) != len(want) || len(got) > 0 && !cmp.Equal(want, got) {
		t.Errorf("declared rows:\n%s", cmp.Diff(want, got))
	}
	for _, bad := range table.Report.Bad {
		if bad.Count != 0 {
			t.Errorf("%d values do not fit: %q", bad.Count, bad.Originals)
		}
	}
}

// whole tells whether all values of a column are whole numbers, those of duplicates too.
func (c combineCase) whole(name string) bool {
	for _, frame := range c.In.Frames {
		at := slices.Index(frame.Columns, name)
		for _, row := range frame.Rows {
			if _, err := strconv.ParseInt(string(row[max(at, 0)]), 10, 64); at >= 0 && err != nil && string(row[at]) != "null" {
				return false
			}
		}
	}
	return true
}

// checkRecorded compares the same rows, cell by cell, with what the client made of them, once its ways are followed where Braid
// has others: it looks for duplicates only when two or more frames have rows (U-5.2), moves rows without an id behind the
// others then, compares ids by type (U-5.3), and has the columns of the first frame where no frame has rows (U-5.1).
func (c combineCase) checkRecorded(t *testing.T) {
	t.Helper()
	columns, rows := c.combined(t, sameTyped)
	filled := slices.DeleteFunc(slices.Clone(c.In.Frames), func(frame recordedTable) bool { return len(frame.Rows) == 0 })
	switch {
	case len(filled) == 0 && len(c.In.Frames) > 0:
		columns = c.In.Frames[0].Columns
	case len(filled) == 1:
		unique := 0
		_, rows = c.combined(t, func(json.RawMessage) string { unique++; return strconv.Itoa(unique) })
	case len(filled) > 1 && slices.Contains(columns, "id"):
		id := slices.Index(columns, "id")
		with := slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return row[id].Null })
		without := slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return !row[id].Null })
		rows = slices.Concat(with, without)
	}
	if !slices.Equal(columns, c.Expect.Columns) || len(rows) != len(c.Expect.Rows) {
		t.Fatalf("columns %q and %d rows, recorded %q and %d", columns, len(rows), c.Expect.Columns, len(c.Expect.Rows))
	}
	for i, row := range rows {
		for j, cell := range row {
			if want := c.Expect.Rows[i][j]; !sameValue(cell, want) {
				t.Errorf("row %d, column %s is %+v, recorded %s", i, columns[j], cell, want)
			}
		}
	}
}

// sameValue compares with a recorded cell: the client turns a column of whole numbers with gaps into floating ones (U-5.6), and
// truth values beside numbers into numbers.
func sameValue(cell Value, want json.RawMessage) bool {
	var text string
	switch number, err := strconv.ParseFloat(string(want), 64); {
	case string(want) == "null":
		return cell.Null
	case cell.Null:
		return false
	case err == nil && strings.EqualFold(cell.Text, "true"):
		return number == 1
	case err == nil && strings.EqualFold(cell.Text, "false"):
		return number == 0
	case err == nil:
		own, err := strconv.ParseFloat(cell.Text, 64)
		return err == nil && own == number
	case json.Unmarshal(want, &text) == nil:
		return cell.Text == text
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(cell.Text)); err != nil {
		return false
	}
	own := compact.String()
	compact.Reset()
	return json.Compact(&compact, want) == nil && own == compact.String()
}
