//go:build unix

package e2e

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// readParquet gives the text columns of a file.
func readParquet(t *testing.T, data []byte) map[string][]string {
	t.Helper()
	table, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), parquet.NewReaderProperties(memory.DefaultAllocator),
		pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	columns := map[string][]string{}
	for i, field := range table.Schema().Fields() {
		if field.Type.ID() != arrow.STRING {
			continue
		}
		for _, chunk := range table.Column(i).Data().Chunks() {
			texts, ok := chunk.(*array.String)
			if !ok {
				t.Fatalf("column %s is a %T", field.Name, chunk)
			}
			for row := range texts.Len() {
				columns[field.Name] = append(columns[field.Name], texts.Value(row))
			}
		}
	}
	return columns
}
