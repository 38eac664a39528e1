//go:build unix

package e2e

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// parquetNumbers are the numbers of a file by column; where one is null there is a nil.
type parquetNumbers struct {
	integers map[string][]int64
	doubles  map[string][]*float64
}

func readParquetNumbers(t *testing.T, data []byte) parquetNumbers {
	t.Helper()
	table, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(data), parquet.NewReaderProperties(memory.DefaultAllocator),
		pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	numbers := parquetNumbers{integers: map[string][]int64{}, doubles: map[string][]*float64{}}
	for i, field := range table.Schema().Fields() {
		for _, chunk := range table.Column(i).Data().Chunks() {
			switch values := chunk.(type) {
			case *array.Int64:
				numbers.integers[field.Name] = append(numbers.integers[field.Name], values.Int64Values()...)
			case *array.Float64:
				for row := range values.Len() {
					var number *float64
					if values.IsValid(row) {
						value := values.Value(row)
						number = &value
					}
					numbers.doubles[field.Name] = append(numbers.doubles[field.Name], number)
				}
			default: // columns of other types have no numbers
			}
		}
	}
	return numbers
}
