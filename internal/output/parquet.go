package output

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/braidhq/braid/pkg/frame"
)

const (
	// A batch is what is turned into columns at a time, a group what the writer holds until it can be written.
	batchRows  = 8 << 10
	batchBytes = 32 << 20
	groupRows  = 128 << 10
	groupBytes = 256 << 20

	// Fixed, so that equal tables are equal files. Readers look for "NAME version N" and distrust statistics without.
	createdBy = "braid version 1"
	// typeKey is the field metadata with the declared type of a column.
	typeKey = "braid.type"
)

func encodeParquet(ctx context.Context, w io.Writer, t *frame.Table, meta map[string]string) error {
	p, err := newParquetWriter(w, t.Columns, meta)
	if err != nil {
		return err
	}
	defer p.batch.Release()
	for row, err := range t.Rows(ctx) {
		if err != nil {
			return err // without a footer nobody takes the file for a table
		}
		if err := p.add(row); err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.file.Close()
}

type parquetWriter struct {
	file       *pqarrow.FileWriter
	batch      *array.RecordBuilder
	appends    []func(frame.Value)
	rows       int // in the batch
	bytes      int // of text in the batch
	groupBytes int // of text in the row group
}

// onlyWriter hides everything but Write: the Parquet writer would close what can be closed.
type onlyWriter struct{ io.Writer }

func newParquetWriter(w io.Writer, columns []frame.Column, meta map[string]string) (*parquetWriter, error) {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{
			Name: c.Name, Type: arrowType(c.Type), Nullable: true,
			Metadata: arrow.NewMetadata([]string{typeKey}, []string{string(c.Type)}),
		}
	}
	keys := slices.Sorted(maps.Keys(meta))
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = meta[key]
	}
	metadata := arrow.NewMetadata(keys, values)
	schema := arrow.NewSchema(fields, &metadata)
	file, err := pqarrow.NewFileWriter(schema, onlyWriter{w}, parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(true),
		parquet.WithMaxRowGroupLength(groupRows),
		parquet.WithCreatedBy(createdBy),
	), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("start file: %w", err)
	}
	p := &parquetWriter{file: file, batch: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
	for i := range columns {
		p.appends = append(p.appends, appender(p.batch.Field(i)))
	}
	return p, nil
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

// appender gives what appends a value that is not null to the column of b.
func appender(b array.Builder) func(frame.Value) {
	switch b := b.(type) {
	case *array.Int64Builder:
		return func(v frame.Value) { b.Append(v.Int64()) }
	case *array.Float64Builder:
		return func(v frame.Value) { b.Append(v.Float64()) }
	case *array.BooleanBuilder:
		return func(v frame.Value) { b.Append(v.Bool()) }
	case *array.Date32Builder:
		return func(v frame.Value) { b.Append(arrow.Date32(v.Days())) }
	case *array.TimestampBuilder:
		return func(v frame.Value) { b.Append(arrow.Timestamp(v.Micros())) }
	case *array.ListBuilder:
		appendText := appender(b.ValueBuilder())
		return func(v frame.Value) {
			b.Append(true)
			for _, text := range v.List() {
				appendText(frame.Value{Text: text})
			}
		}
	default:
		texts := b.(*array.StringBuilder) // arrowType has no other
		return func(v frame.Value) { texts.Append(v.Text) }
	}
}

func (p *parquetWriter) add(row frame.Row) error {
	for i, v := range row {
		if v.Null {
			p.batch.Field(i).AppendNull()
			continue
		}
		p.appends[i](v)
		p.bytes += len(v.Text)
	}
	p.rows++
	if p.rows < batchRows && p.bytes < batchBytes {
		return nil
	}
	return p.flush()
}

func (p *parquetWriter) flush() error {
	if p.rows == 0 {
		return nil
	}
	if p.groupBytes > groupBytes {
		if err := p.file.NewBufferedRowGroupChecked(); err != nil {
			return fmt.Errorf("start row group: %w", err)
		}
		p.groupBytes = 0
	}
	records := p.batch.NewRecordBatch()
	defer records.Release()
	if err := p.file.WriteBuffered(records); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	p.groupBytes += p.bytes
	p.rows, p.bytes = 0, 0
	return nil
}
