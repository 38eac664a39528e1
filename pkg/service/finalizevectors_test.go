package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/frame"
)

// finalizeCase is frames of a collection that the recorded client combined and shaped, and the table that came of it.
type finalizeCase struct {
	ID string
	In struct {
		Frames              []recordedRows
		Collection, Dialect string
		OutputID            string `json:"output_id"`
		Properties          []string
		ConvertTypes        bool `json:"convert_types"`
		MaxRows             *int `json:"max_rows"`
	}
	Expect recordedRows
}

type recordedRows struct {
	Columns []string
	Rows    [][]json.RawMessage
}

// ownDefinition is for a case that names no service: the feature's id is the key, and nothing else is declared.
const ownDefinition = featuresDefinition + "    key: [id]\n"

func (c finalizeCase) collection(t *testing.T) *Collection {
	t.Helper()
	text := []byte(ownDefinition)
	name := map[string]string{"waterdata": "usgs-waterdata", "ngwmn": "usgs-ngwmn"}[c.In.Dialect]
	if name != "" {
		var ok bool
		if text, ok = Builtin(name); !ok {
			t.Fatalf("no definition %s", name)
		}
	}
	d, err := Parse(c.ID, text)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		return d.Collections[0]
	}
	collection, err := d.Collection(c.In.Collection)
	if err != nil {
		t.Fatal(err)
	}
	return collection
}

// numbered gives each record, which is known by its feature id, a number: the vectors leave out what tells records apart on the
// wire, such as the series.
func (c finalizeCase) numbered() map[string]int {
	numbers := map[string]int{}
	for _, rows := range c.In.Frames {
		at := slices.Index(rows.Columns, "id")
		for _, row := range rows.Rows {
			if at >= 0 && string(row[at]) != "null" && numbers[string(row[at])] == 0 {
				numbers[string(row[at])] = len(numbers) + 1
			}
		}
	}
	return numbers
}

// feature writes a row as the service sends it. Parts of the key that the vectors leave out tell of the record's number.
func (r recordedRows) feature(t *testing.T, row []json.RawMessage, shape frame.Shape, numbers map[string]int) string {
	t.Helper()
	properties := map[string]any{}
	id, geometry := json.RawMessage("null"), "null"
	for i, name := range r.Columns {
		switch {
		case name == "id":
			id = row[i]
		case name == "geometry" && string(row[i]) != "null":
			geometry = fmt.Sprintf(`{"type":"Point","coordinates":%s}`, row[i])
		case name != "geometry":
			properties[name] = row[i]
		}
	}
	for _, name := range shape.Key {
		sent := slices.ContainsFunc(r.Columns, func(column string) bool { return snakeCase(column) == name })
		if number := numbers[string(id)]; name != "id" && !sent && number > 0 {
			properties[name] = number
		}
	}
	data, err := json.Marshal(properties)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"type":"Feature","id":%s,"geometry":%s,"properties":%s}`, id, geometry, data)
}

// pages sends the frames through the page decoder.
func (c finalizeCase) pages(t *testing.T, collection *Collection) (seen []string, pages [][]byte) {
	t.Helper()
	for _, rows := range c.In.Frames {
		features := make([]string, len(rows.Rows))
		for i, row := range rows.Rows {
			features[i] = rows.feature(t, row, collection.Shape(), c.numbered())
		}
		body := `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
		page, err := collection.DecodePage(Walk{}, collection.Definition().BaseURL+"/items", nil, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		seen, pages = append(seen, page.Columns...), append(pages, page.Rows)
	}
	return seen, pages
}

func chunksOf(pages [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, page := range pages {
			if !yield(page, nil) {
				return
			}
		}
	}
}

// built is a table as a list of rows.
type built struct {
	columns []frame.Column
	rows    []frame.Row
	report  frame.Report
	shape   frame.Shape
}

func buildTable(t *testing.T, shape frame.Shape, seen []string, pages [][]byte) built {
	t.Helper()
	table, err := frame.Build(t.Context(), shape, seen, chunksOf(pages), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := built{columns: table.Columns, report: table.Report, shape: shape}
	for row, err := range table.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.rows = append(b.rows, slices.Clone(row))
	}
	return b
}

func (b built) index(name string) int {
	return slices.IndexFunc(b.columns, func(c frame.Column) bool { return c.Name == name })
}

func TestTablesHaveTheValuesOfTheRecordedClient(t *testing.T) {
	for _, c := range finalizeCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			collection := c.collection(t)
			shape := collection.Shape()
			seen, pages := c.pages(t, collection)
			whole := buildTable(t, shape, seen, pages)
			c.checkColumns(t, shape, seen, whole)
			c.checkOrder(t, shape, whole)
			if own, want := whole.report.Duplicates, c.repeated(); own != want {
				t.Errorf("%d rows are left out, want %d: those of a record that is there", own, want)
			}
			if filled := slices.DeleteFunc(slices.Clone(pages), func(page []byte) bool { return len(page) == 0 }); len(filled) == 1 {
				shape.Key, shape.OnDuplicate = nil, frame.KeepFirst // the client removes nothing where one chunk alone has rows (U-5.2)
				whole = buildTable(t, shape, seen, pages)
			}
			c.checkSelect(t, shape, seen, pages)
			c.checkRecorded(t, whole)
			if c.In.MaxRows != nil {
				c.checkFirstRows(t, collection.Shape(), seen, pages)
			}
		})
	}
}

func finalizeCases(t *testing.T) []finalizeCase {
	t.Helper()
	var file struct{ Cases []json.RawMessage }
	data, err := os.ReadFile("testdata/combine.json")
	if err != nil {
		t.Fatal(err)
	}
	decodeCase(t, data, &file)
	var cases []finalizeCase
	for _, raw := range file.Cases {
		var head struct{ Kind string }
		if decodeCase(t, raw, &head); head.Kind == "finalize" {
			var c finalizeCase
			decodeCase(t, raw, &c)
			cases = append(cases, c)
		}
	}
	if len(cases) < 15 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// repeated counts the rows whose record an earlier one tells of.
func (c finalizeCase) repeated() (n int64) {
	for _, rows := range c.In.Frames {
		at := slices.Index(rows.Columns, "id")
		for _, row := range rows.Rows {
			if at >= 0 && string(row[at]) != "null" {
				n++
			}
		}
	}
	return n - int64(len(c.numbered()))
}

// finished gives the name that a column has behind finalize.
func finished(shape frame.Shape, name string) string {
	for _, step := range shape.Finalize {
		if renamed, ok := step.Rename[name]; ok {
			name = renamed
		}
	}
	return name
}

// checkColumns says that the columns are the declared ones, with rows and without, and then what else came. The client shows what
// came, in the order in which it came, and asks the service for the columns of an empty table (U-5.8).
func (c finalizeCase) checkColumns(t *testing.T, shape frame.Shape, seen []string, whole built) {
	t.Helper()
	var want, got []string
	for _, field := range shape.Fields {
		want = append(want, finished(shape, field.Name))
	}
	declared := len(want)
	for _, name := range seen {
		if name = finished(shape, name); !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	for i, column := range whole.columns {
		got = append(got, column.Name)
		if column.Declared != (i < declared) || !column.Declared && column.Type != frame.Text {
			t.Errorf("column %+v", column)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns:\n%s", diff)
	}
	if !slices.Contains(got, c.In.OutputID) && c.In.Dialect != "none" {
		t.Errorf("no column %q", c.In.OutputID)
	}
}

// checkOrder says that rows are sorted as the definition says. The client sorts by time and location (U-5.12).
func (c finalizeCase) checkOrder(t *testing.T, shape frame.Shape, whole built) {
	t.Helper()
	for _, step := range shape.Finalize {
		for i := 1; i < len(whole.rows); i++ {
			for _, name := range step.Sort {
				at := whole.index(name)
				order := compareCells(whole.columns[at].Type, whole.rows[i-1][at], whole.rows[i][at])
				if order > 0 {
					t.Errorf("row %d comes behind row %d in %s", i-1, i, name)
				}
				if order != 0 {
					break
				}
			}
		}
	}
}

func compareCells(kind frame.Type, a, b frame.Value) int {
	switch {
	case a.Null || b.Null:
		return map[bool]int{true: 1, false: 0}[a.Null] - map[bool]int{true: 1, false: 0}[b.Null]
	case kind == frame.Timestamp:
		one, _ := clientTime(a.Text)
		other, _ := clientTime(b.Text)
		return one.Compare(other)
	case kind == frame.Decimal || kind == frame.Int64:
		return int(a.Float64() - b.Float64())
	}
	return strings.Compare(a.Text, b.Text)
}

// selection is the query's select that asks for the case's properties: columns have their name in the table. unknown is what the
// table cannot have; the client drops such names in silence.
func (c finalizeCase) selection(shape frame.Shape) (names []string, unknown string) {
	for _, name := range c.In.Properties {
		if name == "id" {
			name = c.In.OutputID
		}
		if !slices.ContainsFunc(shape.Fields, func(f frame.Field) bool { return finished(shape, f.Name) == name }) {
			unknown = name
			continue
		}
		names = append(names, name)
	}
	return names, unknown
}

// checkSelect says that a selection is the table with fewer columns, and that one of an unknown column is told: it is a column
// of nulls, since the service may send it another time.
func (c finalizeCase) checkSelect(t *testing.T, shape frame.Shape, seen []string, pages [][]byte) {
	t.Helper()
	names, unknown := c.selection(shape)
	if unknown != "" {
		shape.Select = append(slices.Clone(names), unknown)
		table, err := frame.Build(t.Context(), shape, seen, chunksOf(pages), nil)
		if err != nil || !slices.Contains(table.Report.Absent, unknown) {
			t.Errorf("select of %q: %v", unknown, err)
		}
	}
	if len(names) == 0 {
		return
	}
	shape.Select = nil
	whole := buildTable(t, shape, seen, pages)
	shape.Select = names
	chosen := buildTable(t, shape, seen, pages)
	for i, name := range names {
		at := whole.index(name)
		for row := range whole.rows {
			if chosen.rows[row][i] != whole.rows[row][at] {
				t.Errorf("row %d, column %s is %v, and %v without a selection", row, name, chosen.rows[row][i], whole.rows[row][at])
			}
		}
	}
}

// checkRecorded finds each recorded row in the table, in any order, by the cells of the columns that both have.
func (c finalizeCase) checkRecorded(t *testing.T, whole built) {
	t.Helper()
	left := slices.Clone(whole.rows)
	for _, recorded := range c.Expect.Rows {
		at := slices.IndexFunc(left, func(row frame.Row) bool {
			for i, name := range c.Expect.Columns {
				if column := whole.index(name); column >= 0 && !c.sameCell(whole, column, row[column], recorded[i]) {
					return false
				}
			}
			return true
		})
		if at < 0 {
			t.Errorf("no row %s in %v", recorded, left)
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	if c.In.MaxRows == nil && len(left) > 0 {
		t.Errorf("%d rows more: %v", len(left), left)
	}
	for _, name := range c.Expect.Columns {
		if whole.index(name) < 0 && name != "geometry" { // which is asked for only where a collection declares it
			t.Errorf("the column %s is lost", name)
		}
	}
}

// forms are what values of a type look like. What looks so must not be bad.
func forms() map[frame.Type]*regexp.Regexp {
	return map[frame.Type]*regexp.Regexp{
		frame.Text:      regexp.MustCompile(``),
		frame.Int64:     regexp.MustCompile(`^[+-]?\d+(\.0*)?$`),
		frame.Float64:   regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`),
		frame.Decimal:   regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`),
		frame.Date:      regexp.MustCompile(`^\d{4}-\d\d-\d\d$`),
		frame.Timestamp: regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d(:?\d\d)?)$`),
		frame.ListText:  regexp.MustCompile(`^\[`),
		frame.Geometry:  regexp.MustCompile(`^\{`),
		frame.JSON:      regexp.MustCompile(`^[\[{"]`),
		frame.Bool:      regexp.MustCompile(`^(?i:true|false)$`),
	}
}

// sameCell compares a cell with the recorded one, which is a number or time where the client converts types. What the client
// reads and the declared type does not take must be told as bad. A time that it could not read, because the column's first is
// written otherwise, is read here (U-5.10).
func (c finalizeCase) sameCell(whole built, column int, cell frame.Value, recorded json.RawMessage) bool {
	kind, name := whole.columns[column].Type, whole.columns[column].Name
	isTime := kind == frame.Date || kind == frame.Timestamp
	switch {
	case string(recorded) == "null":
		return cell.Null || isTime && c.In.ConvertTypes
	case cell.Null:
		return slices.ContainsFunc(whole.report.Bad, func(bad frame.BadField) bool {
			return finished(whole.shape, bad.Name) == name && slices.ContainsFunc(bad.Originals, func(original string) bool {
				return !forms()[kind].MatchString(original) && readsAs(strings.TrimSpace(original), recorded, isTime)
			})
		})
	case kind == frame.Geometry:
		return bytes.Contains(compactJSON(cell.Text), append([]byte(`"coordinates":`), compactJSON(string(recorded))...))
	}
	return readsAs(cell.Text, recorded, isTime)
}

// readsAs tells whether a text says what was recorded: as it is, or as the client reads numbers, times and lists.
func readsAs(text string, recorded json.RawMessage, isTime bool) bool {
	if number, err := strconv.ParseFloat(string(recorded), 64); err == nil {
		own, err := strconv.ParseFloat(text, 64)
		return err == nil && own == number
	}
	var want string
	if json.Unmarshal(recorded, &want) != nil {
		return bytes.Equal(compactJSON(text), compactJSON(string(recorded)))
	}
	if text == want || !isTime {
		return text == want
	}
	own, ok := clientTime(text)
	other, isOther := clientTime(want)
	return ok && isOther && own.Equal(other)
}

// clientTime reads a time as the client does; one without an offset is in UTC.
func clientTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func compactJSON(text string) []byte {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil
	}
	return compact.Bytes()
}

// checkFirstRows says that a query for so many rows has the first ones of the plan, whatever their order in the table. The client
// sorts first, so that others come; only their number agrees.
func (c finalizeCase) checkFirstRows(t *testing.T, shape frame.Shape, seen []string, pages [][]byte) {
	t.Helper()
	var first []byte
	limit := *c.In.MaxRows
	for line := range bytes.Lines(bytes.Join(pages, nil)) {
		if limit--; limit >= 0 {
			first = append(first, line...)
		}
	}
	some := buildTable(t, shape, seen, [][]byte{first})
	whole := buildTable(t, shape, seen, pages)
	for _, row := range some.rows {
		if !slices.ContainsFunc(whole.rows, func(other frame.Row) bool { return slices.Equal(row, other) }) {
			t.Errorf("row %v is not one of the whole table", row)
		}
	}
	if len(some.rows) > *c.In.MaxRows || len(c.Expect.Rows) > *c.In.MaxRows {
		t.Errorf("%d rows, recorded %d, want at most %d", len(some.rows), len(c.Expect.Rows), *c.In.MaxRows)
	}
}

// A watershed on a border comes with both areas. The client has it twice in its table (U-1.37).
func TestAWatershedOnABorderIsThereOnce(t *testing.T) {
	data, _ := Builtin("usgs-nwdc")
	d, err := Parse("usgs-nwdc", data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("water-use")
	if err != nil {
		t.Fatal(err)
	}
	for _, period := range []string{"year", "year_month"} {
		page := func(rows string) []byte {
			t.Helper()
			page, err := c.DecodePage(Walk{}, d.BaseURL+"/data", nil, []byte("huc12_id,"+period+",irwdtot_mgd\n"+rows))
			if err != nil {
				t.Fatal(err)
			}
			return page.Rows
		}
		seen := []string{"huc12_id", period, "irwdtot_mgd"}
		one, other := page("070900020601,2015,1.50\n070900020602,2015,2\n"), page("070900020602,2015,2\n070900020602,2016,3\n")
		if rows := buildTable(t, c.Shape(), seen, [][]byte{one, other}).rows; len(rows) != 3 {
			t.Errorf("by %s: %v, want three rows", period, rows)
		}
		_, err := frame.Build(t.Context(), c.Shape(), seen, chunksOf([][]byte{one, page("070900020602,2015,2.5\n")}), nil)
		if !errors.Is(err, frame.ErrDifferentDuplicates) {
			t.Errorf("by %s: two unequal copies: %v", period, err)
		}
	}
}
