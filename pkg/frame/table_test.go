package frame

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// chunksOf gives texts as chunks, in one buffer that every chunk overwrites.
func chunksOf(texts ...string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffer []byte
		for _, text := range texts {
			buffer = append(buffer[:0], text...)
			if !yield(buffer, nil) {
				return
			}
		}
	}
}

// tableText gives the table as text: a header with types, then rows, nulls as ∅.
func tableText(t *testing.T, table *Table) string {
	t.Helper()
	var cells []string
	for _, c := range table.Columns {
		cells = append(cells, c.Name+":"+string(c.Type))
	}
	text := strings.Join(cells, " ")
	for _, row := range rowsOf(t, table) {
		cells = cells[:0]
		for _, v := range row {
			if v.Null {
				v.Text = "∅"
			}
			cells = append(cells, v.Text)
		}
		text += "\n" + strings.Join(cells, " ")
	}
	return text
}

func rowsOf(t *testing.T, table *Table) []Row {
	t.Helper()
	var rows []Row
	for row, err := range table.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, slices.Clone(row))
	}
	return rows
}

func build(t *testing.T, shape Shape, seen []string, chunks ...string) *Table {
	t.Helper()
	table, err := Build(t.Context(), shape, seen, chunksOf(chunks...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func wantTable(t *testing.T, table *Table, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n"), tableText(t, table)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestColumnsAreDeclaredThenStarsThenUnknown(t *testing.T) {
	shape := Shape{Fields: []Field{{Name: "*_mgd", Type: Decimal}, {Name: "id", Type: Text}, {Name: "total_mgd", Type: Int64}, {Name: "x*", Type: Bool}}}
	seen := []string{"zeta", "x1", "b_mgd", "id", "a_mgd", "alpha", "zeta"}
	table := build(t, shape, seen, `{"alpha":1,"b_mgd":0.50}`+"\n")
	wantTable(t, table,
		"id:text total_mgd:int64 x1:bool b_mgd:decimal a_mgd:decimal zeta:text alpha:text",
		"∅ ∅ ∅ 0.50 ∅ ∅ 1")
	if diff := cmp.Diff([]string{"zeta", "alpha"}, table.Report.Unknown); diff != "" {
		t.Error(diff)
	}
	if table.Columns[5].Declared || !table.Columns[4].Declared {
		t.Error("zeta counts as declared or a_mgd does not")
	}
}

func TestATableWithoutRowsHasTheDeclaredColumns(t *testing.T) {
	shape := Shape{Fields: []Field{{Name: "id", Type: Text}, {Name: "v", Type: Decimal}}, Finalize: []Operation{{Sort: []string{"v"}}}}
	wantTable(t, build(t, shape, nil), "id:text v:decimal")
}

func TestUnknownFieldsFollowTheirRule(t *testing.T) {
	row := `{"id":"a","more":[1, 2],"n":1.50,"s":"x\ny"}`
	seen := []string{"id", "more", "n", "s"}
	shape := Shape{Fields: []Field{{Name: "id", Type: Text}}}
	wantTable(t, build(t, shape, seen, row), "id:text more:text n:text s:text", "a [1, 2] 1.50 x\ny")
	shape.Unknown = UnknownDrop
	table := build(t, shape, seen, row)
	wantTable(t, table, "id:text", "a")
	if len(table.Report.Unknown) != 3 {
		t.Errorf("dropped fields are not reported: %v", table.Report.Unknown)
	}
	shape.Unknown = UnknownFail
	_, err := Build(t.Context(), shape, seen, chunksOf(row), nil)
	wantError(t, err, ErrUnknownField, "more, n, s")
}

func wantError(t *testing.T, err, want error, part string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, want %v with %q", err, want, part)
	}
}

func TestValuesKeepTheServersTextOrBecomeNull(t *testing.T) {
	cases := []struct {
		field Field
		json  string
		want  string
		bad   bool
	}{
		{Field{Type: Decimal}, `20.20`, "20.20", false},
		{Field{Type: Decimal}, `"20.20"`, "20.20", false},
		{Field{Type: Decimal}, `"Unknown"`, "∅", true},
		{Field{Type: Decimal, Null: []string{"Unknown"}}, `"Unknown"`, "∅", false},
		{Field{Type: Decimal, Null: []string{"-999999"}}, `-999999`, "∅", false},
		{Field{Type: Decimal}, `"NaN"`, "∅", true},
		{Field{Type: Decimal}, `null`, "∅", false},
		{Field{Type: Decimal}, `true`, "∅", true},
		{Field{Type: Int64}, `1970.0`, "1970.0", false},
		{Field{Type: Int64}, `1970.5`, "∅", true},
		{Field{Type: Int64}, `""`, "∅", true},
		{Field{Type: Bool}, `true`, "true", false},
		{Field{Type: Bool}, `1`, "∅", true},
		{Field{Type: Text}, `"a\u00e9\ud83d\ude00\n"`, "aé😀\n", false},
		{Field{Type: Text}, `"\ud83dA"`, "∅", true},
		{Field{Type: Text}, `"\\ud83d"`, `\ud83d`, false},
		{Field{Type: Text}, `"\ude00"`, "∅", true},
		{Field{Type: Text}, `1.50`, "1.50", false},
		{Field{Type: Text}, `""`, "", false},
		{Field{Type: Timestamp}, `"2020-01-01T00:00:36+00:00"`, "2020-01-01T00:00:36+00:00", false},
		{Field{Type: Timestamp}, `"2020-01-01T00:00:36"`, "∅", true},
		{Field{Type: ListText}, `["A", "B"]`, `["A", "B"]`, false},
		{Field{Type: ListText}, `"[\"A\"]"`, `["A"]`, false},
		{Field{Type: ListText}, `"A"`, "∅", true},
		{Field{Type: JSON}, `{"a":  1.0}`, `{"a":  1.0}`, false},
		{Field{Type: JSON}, `"a"`, `"a"`, false},
		{Field{Type: JSON, Null: []string{"a"}}, `"a"`, "∅", false},
		{Field{Type: Geometry}, `{"type":"Point","coordinates":[1.0,2]}`, `{"type":"Point","coordinates":[1.0,2]}`, false},
		{Field{Type: Geometry}, `{}`, "∅", true},
	}
	for _, c := range cases {
		c.field.Name = "v"
		table := build(t, Shape{Fields: []Field{c.field}}, []string{"v"}, `{"v":`+c.json+`}`)
		if got := strings.TrimPrefix(tableText(t, table), "v:"+string(c.field.Type)+"\n"); got != c.want {
			t.Errorf("%s as %s is %q, want %q", c.json, c.field.Type, got, c.want)
		}
		if got := len(table.Report.Bad) == 1; got != c.bad {
			t.Errorf("%s as %s: reported %v, want %v", c.json, c.field.Type, got, c.bad)
		}
	}
}

func TestBadValuesAreCountedWithTheFirstTen(t *testing.T) {
	var rows strings.Builder
	for i := range 12 {
		fmt.Fprintf(&rows, `{"a":"x%d","b":1}`+"\n", i)
	}
	shape := Shape{Fields: []Field{{Name: "b", Type: Date}, {Name: "a", Type: Int64}}}
	table := build(t, shape, []string{"a", "b"}, rows.String())
	bad := table.Report.Bad
	if len(bad) != 2 || bad[0].Name != "b" || bad[1].Name != "a" || bad[1].Count != 12 {
		t.Fatalf("report %+v", bad)
	}
	if got := strings.Join(bad[1].Originals, " "); got != "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9" {
		t.Errorf("originals %s", got)
	}
}

func TestRowsThatNoResultCanHoldAreRefused(t *testing.T) {
	cases := map[string]string{
		`[1]`:                         "not a JSON object",
		`{"a":1`:                      "not a JSON object",
		`{"a":1} {"a":2}`:             "not a JSON object",
		`{"a":"` + "\xff" + `"}`:      "UTF-8",
		`{"a":1,"a":2}`:               `"a" twice`,
		`{"a":1,"\u0061":2}`:          `"a" twice`,
		`{"q":1}`:                     `"q"`,
		strings.Repeat(`{"a":`, 5000): "nested",
	}
	for row, part := range cases {
		_, err := Build(t.Context(), Shape{}, []string{"a"}, chunksOf(`{"a":0}`+"\n"+row), nil)
		wantError(t, err, ErrBadRow, part)
		wantError(t, err, ErrBadRow, "row 2")
	}
	long := `{"a":"` + strings.Repeat("x", maxRowBytes) + `"}`
	_, err := Build(t.Context(), Shape{}, []string{"a"}, chunksOf(long), nil)
	wantError(t, err, ErrBadRow, "at most")
}

func TestAnErrorOfTheChunksEndsTheTable(t *testing.T) {
	lost := errors.New("position 7 is lost")
	chunks := func(yield func([]byte, error) bool) {
		_ = yield([]byte(`{"a":1}`), nil) && yield(nil, lost)
	}
	_, err := Build(t.Context(), Shape{}, []string{"a"}, chunks, nil)
	wantError(t, err, lost, "read rows")
}

func TestACancelledBuildGivesItsCause(t *testing.T) {
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	table := build(t, Shape{}, []string{"a"}, `{"a":1}`)
	cancel(cause)
	_, err := Build(ctx, Shape{}, []string{"a"}, chunksOf(`{"a":1}`), nil)
	wantError(t, err, cause, "build table")
	for _, err = range table.Rows(ctx) {
	}
	wantError(t, err, cause, "read table")
}

func TestDuplicatesFollowTheirRule(t *testing.T) {
	shape := Shape{
		Fields: []Field{{Name: "k", Type: Text}, {Name: "t", Type: Timestamp}, {Name: "m", Type: Timestamp}, {Name: "v", Type: Decimal}},
		Key:    []string{"k", "t"},
	}
	seen := []string{"k", "t", "m", "v"}
	rows := []string{
		`{"k":"a","t":"2020-01-01T00:00:00Z","m":"2021-01-01T00:00:00Z","v":1}`,
		`{"k":null,"t":"2020-01-01T00:00:00Z","v":2}`,
		`{"k":"a","t":"2020-01-01T01:00:00+01:00","m":"2021-01-01T00:00:00.5Z","v":3}`,
		`{"k":null,"t":"2020-01-01T00:00:00Z","v":4}`,
		`{"k":"a","t":"2020-01-01T00:00:00.000Z","m":"2021-01-01T00:00:00.500Z","v":5}`,
		`{"k":"a","t":"2020-01-01T00:00:00Z","v":6}`,
	}
	values := func(rule DuplicateRule, by string) string {
		shape.OnDuplicate, shape.NewestBy, shape.Select = rule, by, []string{"v"}
		table := build(t, shape, seen, rows...)
		if table.Report.Duplicates != 3 || table.Report.Read != 6 || table.Report.Rows != 3 {
			t.Errorf("%s: report %+v", rule, table.Report)
		}
		return strings.ReplaceAll(tableText(t, table), "\n", " ")
	}
	if got := values(KeepFirst, ""); got != "v:decimal 1 2 4" {
		t.Errorf("first: %s", got)
	}
	if got := values(KeepNewest, "m"); got != "v:decimal 2 3 4" {
		t.Errorf("newest: %s", got)
	}
	shape.OnDuplicate, shape.Key = FailIfDifferent, []string{"k", "t", "absent"}
	_, err := Build(t.Context(), shape, seen, chunksOf(rows...), nil)
	wantError(t, err, ErrDifferentDuplicates, `k="a", t="2020-01-01T01:00:00+01:00", column "t"`)
	_, err = Build(t.Context(), shape, seen, chunksOf(rows[0], rows[1], rows[0], rows[1]), nil)
	if err != nil {
		t.Errorf("equal rows: %v", err)
	}
}

func TestDuplicatesThatDifferAreCounted(t *testing.T) {
	shape := Shape{Fields: []Field{{Name: "k", Type: Text}, {Name: "t", Type: Date}}, Key: []string{"k"}}
	rows := []string{`{"k":"a","t":"2024-01-01"}`, `{"k":"a","t":"2024-01-01"}`, `{"k":"a","t":"2024-01-02"}`, `{"k":"b"}`, `{"k":"b"}`}
	if r := build(t, shape, []string{"k", "t"}, rows...).Report; r.Duplicates != 3 || r.Different != 1 {
		t.Errorf("keep first: %+v", r)
	}
	shape.OnDuplicate, shape.NewestBy = KeepNewest, "t"
	if r := build(t, shape, []string{"k", "t"}, rows...).Report; r.Duplicates != 3 || r.Different != 1 {
		t.Errorf("newest: %+v", r)
	}
}

func TestAKeyPartThatNoRowHasNeverMakesDifferentRowsOne(t *testing.T) {
	// A declared column is in every table; what counts is whether the service sends it.
	declared := []Field{{Name: "id", Type: Text}, {Name: "v", Type: Text}, {Name: "year", Type: Text}, {Name: "m", Type: Int64}}
	equal := []string{`{"id":"1","v":"a"}`, `{"id":"1","v":"a"}`}
	for _, rule := range []DuplicateRule{"", KeepFirst, KeepNewest} {
		shape := Shape{Fields: declared, Key: []string{"id", "year"}, OnDuplicate: rule, NewestBy: "m"}
		wantTable(t, build(t, shape, []string{"id", "v"}, equal...), "id:text v:text year:text m:int64", "1 a ∅ ∅", "1 a ∅ ∅")
	}
	for _, key := range [][]string{{"id", "year"}, {"gone", "id"}} {
		shape := Shape{Fields: declared, Key: key, OnDuplicate: FailIfDifferent}
		wantTable(t, build(t, shape, []string{"id", "v"}, equal...), "id:text v:text year:text m:int64", "1 a ∅ ∅")
		_, err := Build(t.Context(), shape, []string{"id", "v"}, chunksOf(equal[0], `{"id":"1","v":"b"}`), nil)
		wantError(t, err, ErrDifferentDuplicates, `column "v" is "a" and "b"`)
	}
	table := build(t, Shape{Key: []string{"gone"}}, []string{"id"}, `{"id":"1"}`, `{"id":"1"}`)
	wantTable(t, table, "id:text", "1", "1")
}

func TestTheZoneOfAFieldIsForTimesWithoutAnOffset(t *testing.T) {
	shape := Shape{Fields: []Field{{Name: "t", Type: Timestamp, Zone: "-06:00"}}}
	table := build(t, shape, []string{"t"},
		`{"t":"2017-05-07T20:53:29.5"}`, `{"t":"2017-05-07T20:53:29Z"}`, `{"t":"2017-05-07"}`, `{"t":"never"}`)
	wantTable(t, table, "t:timestamp", "2017-05-07T20:53:29.5-06:00", "2017-05-07T20:53:29Z", "∅", "∅")
	if bad := table.Report.Bad; len(bad) != 1 || bad[0].Count != 2 || bad[0].Originals[0] != "2017-05-07" {
		t.Errorf("reported %+v", bad)
	}
	for _, zone := range []string{"CST", "America/Chicago", "+25:00"} {
		wantError(t, Shape{Fields: []Field{{Name: "t", Type: Timestamp, Zone: zone}}}.Validate(), ErrShape, "offset")
	}
	wantError(t, Shape{Fields: []Field{{Name: "t", Type: Date, Zone: "Z"}}}.Validate(), ErrShape, "timestamp")
}

// rowText draws a row with few different values, so that keys meet.
func rowText() *rapid.Generator[string] {
	values := map[string][]string{
		"k": {`"a"`, `"b"`, `"c"`, `null`},
		"t": {`"2020-01-01T00:00:00Z"`, `"2020-01-01T01:00:00+01:00"`, `"2020-01-02T00:00:00.25Z"`, `"nonsense"`, `null`},
		"v": {`1`, `"1.0"`, `10e-1`, `-2`, `null`, `"x"`},
		"u": {`"free"`, `[1, 2]`, `3`},
	}
	return rapid.Custom(func(t *rapid.T) string {
		var members []string
		for _, name := range []string{"k", "t", "v", "u"} {
			if rapid.IntRange(0, 5).Draw(t, "has "+name) > 0 {
				members = append(members, fmt.Sprintf("%q:%s", name, rapid.SampledFrom(values[name]).Draw(t, name)))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	})
}

func anyShape() *rapid.Generator[Shape] {
	return rapid.Custom(func(t *rapid.T) Shape {
		return Shape{
			Fields:      []Field{{Name: "k", Type: Text}, {Name: "t", Type: Timestamp}, {Name: "v", Type: Decimal}},
			Key:         rapid.SampledFrom([][]string{nil, {"k"}, {"k", "t"}, {"v"}}).Draw(t, "key"),
			OnDuplicate: rapid.SampledFrom([]DuplicateRule{"", KeepFirst}).Draw(t, "rule"),
			Finalize: rapid.SampledFrom([][]Operation{
				nil,
				{{Sort: []string{"t", "k"}}},
				{{Cast: map[string]Type{"u": Int64}}, {Sort: []string{"v"}}, {Filter: map[string][]string{"k": {"a", "b"}}}},
			}).Draw(t, "finalize"),
		}
	})
}

var seenColumns = []string{"k", "t", "v", "u"}

func TestAnySplitIntoChunksGivesTheSameTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		shape := anyShape().Draw(r, "shape")
		if len(shape.Key) > 0 && rapid.Bool().Draw(r, "newest") {
			shape.OnDuplicate, shape.NewestBy = KeepNewest, "t"
		}
		rows := rapid.SliceOfN(rowText(), 0, 20).Draw(r, "rows")
		var chunks []string
		for rest := rows; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(r, "chunk")
			chunks = append(chunks, strings.Join(rest[:n], "\n"))
			rest = rest[n:]
		}
		whole := build(t, shape, seenColumns, strings.Join(rows, "\n")+"\n")
		split := build(t, shape, seenColumns, chunks...)
		if diff := cmp.Diff(tableText(t, whole), tableText(t, split)); diff != "" {
			r.Fatalf("tables differ:\n%s", diff)
		}
		if diff := cmp.Diff(whole.Report, split.Report); diff != "" {
			r.Fatalf("reports differ:\n%s", diff)
		}
	})
}

func TestRowsAgainAddNothingToATableWithAKey(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		shape := anyShape().Draw(r, "shape")
		shape.Key, shape.Fields[1].Type = []string{"k", "v"}, Text
		var rows []string
		for _, row := range rapid.SliceOfN(rowText(), 0, 20).Draw(r, "rows") {
			once := build(t, Shape{Fields: shape.Fields}, seenColumns, row)
			for _, cells := range rowsOf(t, once) {
				if !cells[0].Null && !cells[2].Null {
					rows = append(rows, row)
				}
			}
		}
		once := build(t, shape, seenColumns, rows...)
		twice := build(t, shape, seenColumns, append(rows, rows...)...)
		if diff := cmp.Diff(tableText(t, once), tableText(t, twice)); diff != "" {
			r.Fatalf("tables differ:\n%s", diff)
		}
		if want := 2*once.Report.Duplicates + once.Report.Read - once.Report.Duplicates; twice.Report.Duplicates != want {
			r.Fatalf("%d duplicates, want %d", twice.Report.Duplicates, want)
		}
	})
}

func TestSortIsStableWithNullsLast(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var rows []string
		values := rapid.SliceOfN(rapid.SampledFrom([]string{"2", "10", "-1", "1.0", "1.00", "null"}), 0, 30).Draw(r, "values")
		for i, v := range values {
			rows = append(rows, fmt.Sprintf(`{"v":%s,"n":%d}`, v, i))
		}
		shape := Shape{
			Fields:   []Field{{Name: "v", Type: Decimal}, {Name: "n", Type: Int64}},
			Finalize: []Operation{{Sort: []string{"v"}}},
		}
		table := build(t, shape, []string{"v", "n"}, rows...)
		got := rowsOf(t, table)
		ordered := slices.IsSortedFunc(got, func(a, b Row) int {
			switch {
			case a[0].Null != b[0].Null && b[0].Null, !a[0].Null && !b[0].Null && a[0].Float64() < b[0].Float64():
				return -1
			case a[0].Null != b[0].Null, a[0].Float64() > b[0].Float64():
				return 1
			}
			return int(a[1].Int64() - b[1].Int64())
		})
		if !ordered || len(got) != len(values) {
			r.Fatalf("rows are out of order: %v", got)
		}
	})
}

func FuzzBuildHoldsOnlyValuesThatFit(f *testing.F) {
	f.Add(`{"text":"a","int64":1,"float64":1e5,"decimal":"2.50","bool":true,"date":"2020-01-01"}`)
	f.Add(`{"timestamp":"2020-01-01T00:00:00.5+01:00","list_text":["a"],"json":{"a":[1]},"geometry":{"type":"Point","coordinates":[1,2]}}`)
	f.Add("{\"decimal\":1e999999,\"int64\":-0.0}\n\n{\"text\":\"\\ud800\"}\r\n")
	var shape Shape
	var seen []string
	for _, t := range types() {
		shape.Fields = append(shape.Fields, Field{Name: string(t), Type: t})
		seen = append(seen, string(t))
	}
	shape.Key = []string{"decimal", "timestamp"}
	shape.Finalize = []Operation{{Sort: seen}}
	f.Fuzz(func(t *testing.T, rows string) {
		table, err := Build(t.Context(), shape, seen, chunksOf(rows), nil)
		if err != nil {
			return
		}
		for _, row := range rowsOf(t, table) {
			for i, v := range row {
				if !v.Null && !fits(table.Columns[i].Type, v.Text) {
					t.Fatalf("%q in a column of type %s", v.Text, table.Columns[i].Type)
				}
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	shape := Shape{
		Fields: []Field{
			{Name: "series", Type: Text},
			{Name: "site", Type: Text},
			{Name: "time", Type: Date},
			{Name: "value", Type: Decimal},
			{Name: "unit", Type: Text},
			{Name: "status", Type: Text},
			{Name: "qualifier", Type: ListText},
			{Name: "modified", Type: Timestamp},
		},
		Key: []string{"series", "time"}, OnDuplicate: KeepNewest, NewestBy: "modified",
		Finalize: []Operation{{Sort: []string{"site", "time", "series"}}},
	}
	seen := []string{"series", "site", "time", "value", "unit", "status", "qualifier", "modified"}
	const rows = 100_000
	var chunk strings.Builder
	for i := range rows {
		fmt.Fprintf(&chunk, `{"series":"%032d","site":"USGS-%08d","time":"2%03d-0%d-%02d","value":"%d.20","unit":"ft^3/s","status":"Approved","qualifier":["A"],"modified":"2024-01-01T00:00:00.123456+00:00"}`+"\n",
			i/1000, (rows-i)/1000, i%1000/25, i%9+1, i%25+1, i)
	}
	b.SetBytes(int64(chunk.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(b.Context(), shape, seen, chunksOf(chunk.String()), nil); err != nil {
			b.Fatal(err)
		}
	}
}
