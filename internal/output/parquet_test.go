package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/frame"
)

func openParquet(t *testing.T, data []byte) *file.Reader {
	t.Helper()
	reader, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	return reader
}

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
			texts = append(texts, cell(t, a.ListValues(), int(j)))
		}
		return strings.Join(texts, "|")
	}
	t.Fatalf("unexpected array %T", a)
	return ""
}

func TestParquetHoldsEveryValueUnderItsType(t *testing.T) {
	checkSample(t, readParquet(t, encode(t, Parquet, sample(t))))
}

func TestArrowHoldsEveryValueUnderItsType(t *testing.T) {
	data := encode(t, Arrow, sample(t))
	reader, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for i := range reader.NumRecords() {
		batch, err := reader.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, batch)
	}
	metadata := reader.Schema().Metadata()
	if got := metadata.ToMap(); !maps.Equal(got, someMeta()) {
		t.Errorf("metadata %v", got)
	}
	table := array.NewTableFromRecords(reader.Schema(), batches)
	t.Cleanup(table.Release)
	checkSample(t, table)
	if empty := encode(t, Arrow, tableOf(t, frame.Shape{}, nil)); len(empty) == 0 {
		t.Error("a table without columns is no file")
	}
}

func TestGeoJSONNeedsAGeometry(t *testing.T) {
	table := tableOf(t, frame.Shape{}, []string{"a"}, `{"a":1}`)
	if err := Encode(t.Context(), io.Discard, GeoJSON, table, nil); !errors.Is(err, ErrNoGeometry) {
		t.Errorf("error %v", err)
	}
	shape := frame.Shape{Fields: []frame.Field{{Name: "g", Type: frame.Geometry}}}
	for rows, want := range map[int]string{
		0: `{"type":"FeatureCollection","features":[` + "\n]}\n",
		1: `{"type":"FeatureCollection","features":[` + "\n" + `{"type":"Feature","geometry":null,"properties":{}}` + "\n]}\n",
	} {
		got := string(encode(t, GeoJSON, tableOf(t, shape, nil, slices.Repeat([]string{"{}"}, rows)...)))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%d rows: %q", rows, got)
		}
	}
}

// checkSample compares a table that was read back with the sample.
func checkSample(t *testing.T, table arrow.Table) {
	t.Helper()
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
		{"list_text", "list<", []string{"A|e", "", `a,"b"|`, "∅", "∅"}},
		{"json", "utf8", []string{`{"a": 1.0}`, `"a"`, `[1,"x"]`, "∅", "∅"}},
		{"geometry", "utf8", []string{`{"type":"Point","coordinates":[-89.60,43.10]}`, "∅", "∅", "∅", "∅"}},
		{`odd, "name" of.a.field`, "utf8", []string{"∅", "5", "∅", "∅", "∅"}},
	}
	if int(table.NumCols()) != len(want) {
		t.Fatalf("%d columns", table.NumCols())
	}
	for i, w := range want {
		field := table.Schema().Field(i)
		if field.Name != w.name || !strings.HasPrefix(field.Type.String(), w.of) || !field.Nullable {
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
	const rows = 2500
	shape, seen := allTypes()
	table := tableOf(t, shape, seen, strings.Join(manyRows(rows), "\n"))
	small := bounds{batchRows: 300, batchBytes: 1 << 20, groupRows: 1000, groupBytes: 1 << 20}
	data := writeParquet(t, table, small)
	reader := openParquet(t, data)
	if reader.NumRowGroups() != 3 || reader.RowGroup(0).NumRows() != 1000 || reader.NumRows() != rows {
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
	for i, row := range rowsOf(t, table) {
		if texts[i] != row[0].Text || decimals[i] != strconv.FormatFloat(row[3].Float64(), 'g', -1, 64) {
			t.Fatalf("row %d is %s, %s; want %v", i, texts[i], decimals[i], row)
		}
	}
}

func writeParquet(t *testing.T, table *frame.Table, b bounds) []byte {
	t.Helper()
	var data bytes.Buffer
	p, err := newParquetWriter(&data, table.Columns, make([]bool, len(table.Columns)), someMeta(), b)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	for row, err := range table.Rows(t.Context()) {
		if err == nil {
			err = p.add(row)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func TestWideTextsMakeSmallRowGroups(t *testing.T) {
	wide := `{"a":"` + strings.Repeat("x", 1000) + `"}` + "\n"
	table := tableOf(t, frame.Shape{}, []string{"a"}, strings.Repeat(wide, 10))
	data := writeParquet(t, table, bounds{batchRows: 100, batchBytes: 2000, groupRows: 100, groupBytes: 4000})
	reader := openParquet(t, data)
	if reader.NumRowGroups() != 3 || reader.RowGroup(0).NumRows() != 4 || reader.RowGroup(2).NumRows() != 2 {
		t.Errorf("%d groups, the first of %d rows", reader.NumRowGroups(), reader.RowGroup(0).NumRows())
	}
}

func TestTheUsualBoundsKeepARecordBelowArrowsLimits(t *testing.T) {
	const rowLimit = 16 << 20 // of pkg/frame; a column of a record batch holds 2 GiB of text at most
	if b := usualBounds(); b.batchBytes+rowLimit >= 1<<31 || b.groupRows < b.batchRows {
		t.Errorf("bounds %+v", b)
	}
}
