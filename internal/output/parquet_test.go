package output

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/frame"
)

func readParquet(t *testing.T, data []byte) arrow.Table {
	t.Helper()
	table, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), parquet.NewReaderProperties(memory.DefaultAllocator),
		pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Release)
	return table
}

// cellsOf gives what a Parquet column holds in one spelling for each type, nulls as ∅.
func cellsOf(t *testing.T, column *arrow.Chunked) []string {
	t.Helper()
	var cells []string
	for _, chunk := range column.Chunks() {
		for i := range chunk.Len() {
			if chunk.IsNull(i) {
				cells = append(cells, "∅")
				continue
			}
			cells = append(cells, cell(t, chunk, i))
		}
	}
	return cells
}

func cell(t *testing.T, a arrow.Array, i int) string {
	t.Helper()
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Int64:
		return strconv.FormatInt(a.Value(i), 10)
	case *array.Float64:
		return strconv.FormatFloat(a.Value(i), 'g', -1, 64)
	case *array.Boolean:
		return strconv.FormatBool(a.Value(i))
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Timestamp:
		return a.Value(i).ToTime(arrow.Microsecond).UTC().Format("2006-01-02T15:04:05.000000Z")
	case *array.List:
		from, to := a.ValueOffsets(i)
		var texts []string
		for j := from; j < to; j++ {
			texts = append(texts, a.ListValues().(*array.String).Value(int(j)))
		}
		return strings.Join(texts, "|")
	}
	t.Fatalf("unexpected array %T", a)
	return ""
}

func TestParquetHoldsEveryValueUnderItsType(t *testing.T) {
	table := readParquet(t, encode(t, Parquet, sample(t)))
	want := []struct {
		name, of string
		cells    []string
	}{
		{"text", "utf8", []string{"plain", "", "comma, \"quote\"\nline\ttab\x01 é😀<&>", " blank ", "∅"}},
		{"int64", "int64", []string{"1970", "-9223372036854775808", "∅", "7", "∅"}},
		{"float64", "float64", []string{"1e-07", "0.5", "∅", "-0", "∅"}},
		{"decimal", "float64", []string{"20.2", "-7", "1.2345678901234568e+29", "100000", "∅"}},
		{"bool", "bool", []string{"true", "false", "∅", "∅", "∅"}},
		{"date", "date32", []string{"2020-02-29", "0001-01-01", "∅", "∅", "∅"}},
		{"timestamp", "timestamp[us, tz=UTC]", []string{"2020-01-01T00:00:36.529563Z", "1970-01-01T04:59:59.999999Z", "∅", "∅", "∅"}},
		{"list_text", "list<element: utf8, nullable>", []string{"A|e", "", `a,"b"|`, "∅", "∅"}},
		{"json", "utf8", []string{`{"a": 1.0}`, `"a"`, `[1,"x"]`, "∅", "∅"}},
		{"geometry", "utf8", []string{`{"type":"Point","coordinates":[-89.60,43.10]}`, "∅", "∅", "∅", "∅"}},
		{`odd, "name" of.a.field`, "utf8", []string{"∅", "5", "∅", "∅", "∅"}},
	}
	if int(table.NumCols()) != len(want) {
		t.Fatalf("%d columns", table.NumCols())
	}
	for i, w := range want {
		field := table.Schema().Field(i)
		if field.Name != w.name || field.Type.String() != w.of || !field.Nullable {
			t.Errorf("column %d is %v, want %s %s", i, field, w.name, w.of)
		}
		if diff := cmp.Diff(w.cells, cellsOf(t, table.Column(i).Data())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.name, diff)
		}
		of := w.name
		if i == len(want)-1 {
			of = "text"
		}
		if got, _ := field.Metadata.GetValue(typeKey); got != of {
			t.Errorf("%s: %s is %q", w.name, typeKey, got)
		}
	}
}

func TestParquetHasBoundedRowGroupsSortedMetadataAndAFixedWriter(t *testing.T) {
	const rows = groupRows + batchRows/2
	shape, seen := allTypes()
	table := tableOf(t, shape, seen, strings.Join(manyRows(rows), "\n"))
	data := encode(t, Parquet, table)
	reader, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if reader.NumRowGroups() != 2 || reader.RowGroup(0).NumRows() != groupRows || reader.NumRows() != rows {
		t.Errorf("%d groups, %d rows", reader.NumRowGroups(), reader.NumRows())
	}
	meta := reader.MetaData()
	if got := *meta.CreatedBy; got != createdBy {
		t.Errorf("created by %q", got)
	}
	if got := meta.KeyValueMetadata().Keys(); len(got) < 2 || got[0] != "braid" || got[1] != "query" {
		t.Errorf("metadata keys %v", got)
	}
	back := readParquet(t, data)
	texts := cellsOf(t, back.Column(0).Data())
	decimals := cellsOf(t, back.Column(3).Data())
	i := 0
	for row := range table.Rows(t.Context()) {
		if texts[i] != row[0].Text || decimals[i] != strconv.FormatFloat(row[3].Float64(), 'g', -1, 64) {
			t.Fatalf("row %d is %s, %s; want %v", i, texts[i], decimals[i], row)
		}
		i++
	}
}

func TestWideTextsMakeSmallBatchesAndGroups(t *testing.T) {
	var data bytes.Buffer
	p, err := newParquetWriter(&data, []frame.Column{{Name: "a", Type: frame.Text}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.batch.Release()
	wide := frame.Row{{Text: strings.Repeat("x", batchBytes)}}
	for range groupBytes/batchBytes + 2 {
		if err := p.add(wide); err != nil {
			t.Fatal(err)
		}
		if p.rows != 0 {
			t.Fatal("a full batch was not written")
		}
	}
	if err := p.file.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := file.NewParquetReader(bytes.NewReader(data.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if reader.NumRowGroups() != 2 {
		t.Errorf("%d groups", reader.NumRowGroups())
	}
}
