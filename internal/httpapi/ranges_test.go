package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
)

// parquetDesk has one table, for any number of readers at a time.
type parquetDesk struct {
	*desk
	data []byte
}

func (d parquetDesk) Table(context.Context, string, string, bool) (*httpapi.Table, error) {
	return &httpapi.Table{Query: "q1", ETag: `"x"`, Content: bytes.NewReader(d.data), Close: func() {}}, nil
}

func TestAParquetReaderReadsOneColumnByRanges(t *testing.T) {
	const n = 100_000
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, `{"n":%d,"wide":"%x"}`+"\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)}))
	}
	shape := frame.Shape{Fields: []frame.Field{{Name: "n", Type: frame.Int64}, {Name: "wide", Type: frame.Text}}}
	table, err := frame.Build(t.Context(), shape, []string{"n", "wide"}, func(yield func([]byte, error) bool) { yield([]byte(rows.String()), nil) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := output.Encode(t.Context(), &data, output.Parquet, table, nil); err != nil {
		t.Fatal(err)
	}
	d := parquetDesk{&desk{}, data.Bytes()}
	server := httptest.NewServer(httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: d, Views: d, Tables: d}))
	defer server.Close()

	cmd := exec.CommandContext(t.Context(), "node", "read.mjs", "ranges", server.URL+"/v1/queries/q1/results")
	cmd.Dir = "../../test/readers"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v; run `make readers` once\n%s", err, stderr.String())
	}
	var got struct {
		Rows                  [][]string
		Requests, Bytes, Size int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i, row := range got.Rows {
		if row[0] != fmt.Sprint(i) {
			t.Fatalf("row %d is %q", i, row[0])
		}
	}
	if len(got.Rows) != n || got.Size != data.Len() || got.Requests < 3 || got.Bytes > got.Size/2 {
		t.Errorf("%d rows by %d requests of %d bytes, of a table of %d (%d)", len(got.Rows), got.Requests, got.Bytes, got.Size, data.Len())
	}
}
