package output

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/braidhq/braid/pkg/frame"
)

// The field metadata: the declared type of a column; the unit of its values, or the column that has it.
const (
	typeKey       = "braid.type"
	unitKey       = "braid.unit"
	unitColumnKey = "braid.unit_column"
)

// schemaOf is the schema of a table in arrow's terms, with the table's metadata in bytewise order of the keys.
func schemaOf(columns []frame.Column, meta map[string]string) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{
			Name: c.Name, Type: arrowType(c.Type), Nullable: true,
			Metadata: fieldMetadata(c),
		}
	}
	keys := slices.Sorted(maps.Keys(meta))
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = meta[key]
	}
	metadata := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &metadata)
}

// fieldMetadata has its keys in bytewise order.
func fieldMetadata(c frame.Column) arrow.Metadata {
	keys, values := []string{typeKey}, []string{string(c.Type)}
	for _, more := range [][2]string{{unitKey, c.Unit}, {unitColumnKey, c.UnitColumn}} {
		if more[1] != "" {
			keys, values = append(keys, more[0]), append(values, more[1])
		}
	}
	return arrow.NewMetadata(keys, values)
}

func arrowType(t frame.Type) arrow.DataType {
	switch t {
	case frame.Int64:
		return arrow.PrimitiveTypes.Int64
	case frame.Float64, frame.Decimal:
		return arrow.PrimitiveTypes.Float64
	case frame.Bool:
		return arrow.FixedWidthTypes.Boolean
	case frame.Date:
		return arrow.FixedWidthTypes.Date32
	case frame.Timestamp:
		return arrow.FixedWidthTypes.Timestamp_us
	case frame.ListText:
		return arrow.ListOf(arrow.BinaryTypes.String)
	default:
		return arrow.BinaryTypes.String
	}
}

// records turns rows into record batches of bounded size.
type records struct {
	builder *array.RecordBuilder
	appends []func(frame.Value)
	bounds  bounds
	rows    int // in the batch
	bytes   int // of text in the batch
	write   func(batch arrow.RecordBatch, bytes int) error
}

func newRecords(schema *arrow.Schema, b bounds, write func(arrow.RecordBatch, int) error) (*records, error) {
	r := &records{builder: array.NewRecordBuilder(memory.DefaultAllocator, schema), bounds: b, write: write}
	for i, field := range schema.Fields() {
		appends, err := appender(r.builder.Field(i))
		if err != nil {
			r.builder.Release()
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
		r.appends = append(r.appends, appends)
	}
	return r, nil
}

// appender gives what appends a value that is not null to the column of b.
func appender(b array.Builder) (func(frame.Value), error) {
	switch b := b.(type) {
	case *array.Int64Builder:
		return func(v frame.Value) { b.Append(v.Int64()) }, nil
	case *array.Float64Builder:
		return func(v frame.Value) { b.Append(v.Float64()) }, nil
	case *array.BooleanBuilder:
		return func(v frame.Value) { b.Append(v.Bool()) }, nil
	case *array.Date32Builder:
		return func(v frame.Value) { b.Append(arrow.Date32(v.Days())) }, nil
	case *array.TimestampBuilder:
		return func(v frame.Value) { b.Append(arrow.Timestamp(v.Micros())) }, nil
	case *array.StringBuilder:
		return func(v frame.Value) { b.Append(v.Text) }, nil
	case *array.ListBuilder:
		appendText, err := appender(b.ValueBuilder())
		return func(v frame.Value) {
			b.Append(true)
			for _, text := range v.List() {
				appendText(frame.Value{Text: text})
			}
		}, err
	}
	return nil, fmt.Errorf("no way to fill a column of %s", b.Type())
}

func (r *records) add(row frame.Row) error {
	for i, v := range row {
		if v.Null {
			r.builder.Field(i).AppendNull()
			continue
		}
		r.appends[i](v)
		r.bytes += len(v.Text)
	}
	r.rows++
	if r.rows < r.bounds.batchRows && r.bytes < r.bounds.batchBytes {
		return nil
	}
	return r.flush()
}

// flush writes what is in the batch.
func (r *records) flush() error {
	if r.rows == 0 {
		return nil
	}
	batch := r.builder.NewRecordBatch()
	defer batch.Release()
	if err := r.write(batch, r.bytes); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	r.rows, r.bytes = 0, 0
	return nil
}

func (r *records) release() { r.builder.Release() }
