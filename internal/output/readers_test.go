package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/frame"
)

// readBack is a table as a reader that is not ours sees it (test/readers).
type readBack struct {
	Columns []struct{ Name, Type string }
	Rows    [][]any
}

// readBy lets a reader of test/readers read a file. `make readers` installs what it needs.
func readBy(t *testing.T, reader string, data []byte) readBack {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table's \"file\"."+reader)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "read.mjs", reader, path)
	cmd.Dir = "../../test/readers"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v; run `make readers` once\n%s", err, stderr.String())
	}
	var table readBack
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	if err := decoder.Decode(&table); err != nil {
		t.Fatal(err)
	}
	return table
}

// meant is what a reader is to see of a value.
func meant(of frame.Type, v frame.Value) any {
	switch {
	case v.Null:
		return nil
	case of == frame.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case of == frame.Float64, of == frame.Decimal:
		return v.Float64()
	case of == frame.Bool:
		return v.Bool()
	case of == frame.Timestamp:
		return strconv.FormatInt(v.Micros(), 10)
	case of == frame.ListText:
		list := make([]any, 0)
		for _, text := range v.List() {
			list = append(list, text)
		}
		return list
	default:
		return v.Text
	}
}

func same(want, got any) bool {
	switch want := want.(type) {
	case float64:
		number, ok := got.(json.Number)
		if !ok {
			return false
		}
		f, err := number.Float64()
		return err == nil && f == want && (f != 0 || math.Abs(f) == 0)
	case []any:
		list, ok := got.([]any)
		return ok && fmt.Sprintf("%q", list) == fmt.Sprintf("%q", want)
	default:
		return want == got
	}
}

// varied is rows of all types, with nulls, over more than one batch and row group's worth of repeated and unique values.
func varied(n int) string {
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, `{"text":"USGS-%08d é \"q\"\n","int64":%d,"float64":%d.5e-%d,"decimal":"%d.%02d","bool":%t,"date":"%04d-%02d-%02d",`+
			`"timestamp":"%04d-01-01T00:00:%02d.%06d+05:30","list_text":["A","%d"],"json":{"i": %d},"geometry":{"type":"Point","coordinates":[%d.50,1]}}`+"\n",
			i/7, i*7919-n, i, i%30, i, i%100, i%2 == 0, 1600+i%800, i%12+1, i%28+1, 1700+i%600, i%60, i, i%3, i, i%180)
		if i%5 == 0 {
			rows.WriteString("{}\n")
		}
	}
	return rows.String()
}

func TestOtherReadersSeeTheSameTable(t *testing.T) {
	shape, seen := allTypes()
	for name, table := range map[string]*frame.Table{
		"every type": sample(t),
		"no rows":    tableOf(t, shape, seen),
		"many rows":  tableOf(t, shape, seen, varied(40_000)),
	} {
		for reader, format := range map[string]Format{"duckdb": Parquet, "arrow": Arrow} {
			t.Run(name+" by "+reader, func(t *testing.T) {
				got, rows := readBy(t, reader, encode(t, format, table)), rowsOf(t, table)
				if len(got.Columns) != len(table.Columns) || len(got.Rows) != len(rows) {
					t.Fatalf("%d columns and %d rows, want %d and %d", len(got.Columns), len(got.Rows), len(table.Columns), len(rows))
				}
				for c, column := range table.Columns {
					if got.Columns[c].Name != column.Name {
						t.Errorf("column %d is called %q, want %q", c, got.Columns[c].Name, column.Name)
					}
					for r, row := range rows {
						if want := meant(column.Type, row[c]); !same(want, got.Rows[r][c]) {
							t.Fatalf("row %d, %s is %#v, want %#v", r, column.Name, got.Rows[r][c], want)
						}
					}
				}
			})
		}
	}
}
