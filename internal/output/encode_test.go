package output

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/frame"
)

var update = flag.Bool("update", false, "write the golden files")

func tableOf(t *testing.T, shape frame.Shape, seen []string, rows ...string) *frame.Table {
	t.Helper()
	table, err := frame.Build(t.Context(), shape, seen, func(yield func([]byte, error) bool) {
		for _, row := range rows {
			if !yield([]byte(row), nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func rowsOf(t *testing.T, table *frame.Table) []frame.Row {
	t.Helper()
	var rows []frame.Row
	for row, err := range table.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, slices.Clone(row))
	}
	return rows
}

func allTypes() (frame.Shape, []string) {
	var shape frame.Shape
	var seen []string
	for _, t := range []frame.Type{
		frame.Text, frame.Int64, frame.Float64, frame.Decimal, frame.Bool, frame.Date,
		frame.Timestamp, frame.ListText, frame.JSON, frame.Geometry,
	} {
		shape.Fields = append(shape.Fields, frame.Field{Name: string(t), Type: t})
		seen = append(seen, string(t))
	}
	return shape, append(seen, `odd, "name" of.a.field`)
}

func sample(t *testing.T) *frame.Table {
	t.Helper()
	shape, seen := allTypes()
	return tableOf(t, shape, seen,
		`{"text":"plain","int64":1970.0,"float64":1e-7,"decimal":20.20,"bool":true,"date":"2020-02-29","timestamp":"2020-01-01T00:00:36.529563+00:00","list_text":["A", "e"],"json":{"a": 1.0},"geometry":{"type":"Point","coordinates":[-89.60,43.10]}}`,
		`{"text":"","int64":-9223372036854775808,"float64":"+.5","decimal":"-007.","bool":"FALSE","date":"0001-01-01","timestamp":"1969-12-31 23:59:59.9999999-05","list_text":[],"json":"a","geometry":null,"odd, \"name\" of.a.field":5}`,
		`{"text":"comma, \"quote\"\nline\ttab\u0001 é😀<&>","decimal":"123456789012345678901234567890.10","list_text":["a,\"b\"",""],"json":[1,"x"]}`,
		`{"text":" blank ","int64":"007","decimal":"1E+5","float64":"-0"}`,
		`{}`,
	)
}

func someMeta() map[string]string { return map[string]string{"query": "q1", "braid": "x"} }

func encode(t *testing.T, f Format, table *frame.Table) []byte {
	t.Helper()
	var w bytes.Buffer
	if err := Encode(t.Context(), &w, f, table, someMeta()); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func TestTextFormatsLookLikeTheGoldenFiles(t *testing.T) {
	for _, f := range []Format{CSV, JSONL, GeoJSON} {
		got, path := encode(t, f, sample(t)), filepath.Join("testdata", "sample."+string(f))
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
}

func TestACSVReaderReadsTheServersTextBack(t *testing.T) {
	table := sample(t)
	records, err := csv.NewReader(bytes.NewReader(encode(t, CSV, table))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{}}
	for _, c := range table.Columns {
		want[0] = append(want[0], c.Name)
	}
	for _, row := range rowsOf(t, table) {
		var cells []string
		for _, v := range row {
			cells = append(cells, v.Text)
		}
		want = append(want, cells)
	}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Error(diff)
	}
}

func TestEveryJSONLineIsAnObjectWithEveryColumnInOrder(t *testing.T) {
	table := sample(t)
	lines := bytes.Split(bytes.TrimSuffix(encode(t, JSONL, table), []byte("\n")), []byte("\n"))
	if int64(len(lines)) != table.Report.Rows {
		t.Fatalf("%d lines for %d rows", len(lines), table.Report.Rows)
	}
	for _, line := range lines {
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		end := 0
		for _, c := range table.Columns {
			name, _ := json.Marshal(c.Name)
			at := bytes.Index(line[end:], append(name, ':'))
			if _, found := object[c.Name]; !found || at < 0 {
				t.Fatalf("%s: column %s is missing or out of order", line, c.Name)
			}
			end += at
		}
	}
}

func TestNumbersAreRespelledOnlyWhereJSONDemandsIt(t *testing.T) {
	cases := map[string]string{
		"1.50": "1.50", "-0": "-0", "0.0": "0.0", "1E+05": "1E+05", "100": "100", "-2.5e-3": "-2.5e-3",
		"+5": "5", ".5": "0.5", "-.5": "-0.5", "5.": "5", "007": "7", "-007.10": "-7.10", "00": "0", "5.e3": "5e3",
	}
	for text, want := range cases {
		got := string(appendNumber(nil, text))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestEmbeddedJSONStaysOnItsLine(t *testing.T) {
	shape := frame.Shape{Finalize: []frame.Operation{{Cast: map[string]frame.Type{"j": frame.JSON}}}}
	table := tableOf(t, shape, []string{"j"}, `{"j":"{\n \"a\": 1.0}"}`)
	if got, want := string(encode(t, JSONL, table)), `{"j":{"a":1.0}}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestATableWithoutRowsOrColumnsIsStillAFile(t *testing.T) {
	shape, _ := allTypes()
	shape.Fields = shape.Fields[:2]
	cases := []struct {
		table      *frame.Table
		csv, jsonl string
	}{
		{tableOf(t, shape, nil), "text,int64\n", ""},
		{tableOf(t, frame.Shape{}, nil), "\n", ""},
		{tableOf(t, frame.Shape{}, nil, "{}"), "\n\n", "{}\n"},
	}
	for i, c := range cases {
		if got := string(encode(t, CSV, c.table)); got != c.csv {
			t.Errorf("case %d: csv %q", i, got)
		}
		if got := string(encode(t, JSONL, c.table)); got != c.jsonl {
			t.Errorf("case %d: jsonl %q", i, got)
		}
		if got := readParquet(t, encode(t, Parquet, c.table)); int(got.NumCols()) != len(c.table.Columns) {
			t.Errorf("case %d: parquet has %d columns", i, got.NumCols())
		}
	}
}

func TestTheSameTableGivesTheSameBytes(t *testing.T) {
	shape, seen := allTypes()
	rows := manyRows(10_000)
	for _, f := range Formats() {
		first := encode(t, f, tableOf(t, shape, seen, rows...))
		again := encode(t, f, tableOf(t, shape, seen, strings.Join(rows, "\n")))
		if !bytes.Equal(first, again) {
			t.Errorf("%s differs", f)
		}
	}
}

func manyRows(n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"text":"USGS-%08d","int64":%d,"decimal":"%d.%02d","date":"2020-01-%02d","list_text":["A","%d"],"timestamp":"2020-01-01T00:00:00.%06dZ"}`,
			i/100, i, i%1000, i%100, i%28+1, i%3, i)
	}
	return rows
}

// brokenWriter takes some bytes and then fails.
type brokenWriter struct {
	left int
	err  error
}

func (w *brokenWriter) Write(data []byte) (int, error) {
	if len(data) > w.left {
		return w.left, w.err
	}
	w.left -= len(data)
	return len(data), nil
}

func TestAWriterThatFailsAnywhereFailsTheEncoding(t *testing.T) {
	shape, seen := allTypes()
	table := tableOf(t, shape, seen, manyRows(10_000)...)
	broken := errors.New("the cable is out")
	for _, f := range Formats() {
		size := len(encode(t, f, table))
		for _, at := range []int{0, 1, size / 3, size / 2, size - 1} {
			err := Encode(t.Context(), &brokenWriter{at, broken}, f, table, someMeta())
			if !errors.Is(err, broken) {
				t.Errorf("%s, broken at %d of %d: %v", f, at, size, err)
			}
		}
	}
}

func TestAFullDeviceIsReported(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skipf("this system has no /dev/full: %v", err)
	}
	defer func() { _ = full.Close() }()
	for _, f := range Formats() {
		if err := Encode(t.Context(), full, f, sample(t), nil); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", f, err)
		}
	}
	if err := full.Sync(); errors.Is(err, os.ErrClosed) {
		t.Error("the writer was closed")
	}
}

func TestACancelledEncodingGivesItsCauseAndNoFooter(t *testing.T) {
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, f := range Formats() {
		var w bytes.Buffer
		if err := Encode(ctx, &w, f, sample(t), nil); !errors.Is(err, cause) {
			t.Errorf("%s: %v", f, err)
		}
		if f == Parquet && w.Len() > 0 {
			t.Errorf("%d bytes written", w.Len())
		}
	}
}

func TestTheFormatIsTheExplicitOneElseTheExtensions(t *testing.T) {
	cases := []struct {
		path, explicit string
		want           Format
	}{
		{"a.csv", "", CSV},
		{"a.b.PARQUET", "", Parquet},
		{"x/a.ndjson", "", JSONL},
		{"a.jsonl", "", JSONL},
		{"a.csv", "parquet", Parquet},
		{"-", "JSONL", JSONL},
		{"a.csv.gz", "", ""},
		{"csv", "", ""},
		{"a.csv", "xlsx", ""},
		{"-", "", ""},
	}
	for _, c := range cases {
		got, err := FormatOf(c.path, c.explicit)
		if got != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%s, %q: %s, %v", c.path, c.explicit, got, err)
		}
		if err != nil && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "parquet")) {
			t.Errorf("%v does not say what is known", err)
		}
	}
	if err := Encode(t.Context(), io.Discard, "xlsx", sample(t), nil); !errors.Is(err, ErrFormat) {
		t.Errorf("encode: %v", err)
	}
	if !slices.IsSorted(Formats()) {
		t.Error("the formats are not listed in order")
	}
}
