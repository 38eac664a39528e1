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

// bounds keep memory bounded: a batch is what is turned into columns at a time, a row group what the writer holds until
// it can be written. A row may exceed them by its own size.
type bounds struct{ batchRows, batchBytes, groupRows, groupBytes int }

func usualBounds() bounds {
	return bounds{batchRows: 8 << 10, batchBytes: 8 << 20, groupRows: 128 << 10, groupBytes: 64 << 20}
}

const (
	// Fixed, so that equal tables are equal files. Readers look for "NAME version N" and distrust statistics without.
	createdBy = "braid version 1"
	// typeKey is the field metadata with the declared type of a column.
	typeKey = "braid.type"
)

func encodeParquet(ctx context.Context, w io.Writer, t *frame.Table, meta map[string]string) error {
	var p *parquetWriter
	first := newFirstRows(t.Columns)
	start := func() (err error) {
		if p, err = newParquetWriter(w, t.Columns, first.repeating(), meta, usualBounds()); err != nil {
			return err
		}
		for _, row := range first.rows {
			if err := p.add(row); err != nil {
				return err
			}
		}
		first = nil
		return nil
	}
	defer func() {
		if p != nil {
			p.batch.Release()
		}
	}()
	for row, err := range t.Rows(ctx) {
		switch {
		case err != nil: // without a footer nobody takes the file for a table
		case p != nil:
			err = p.add(row)
		case first.add(row):
			err = start()
		}
		if err != nil {
			return err
		}
	}
	if p == nil {
		if err := start(); err != nil {
			return err
		}
	}
	return p.close()
}

// close writes what is left, and the footer.
func (p *parquetWriter) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.file.Close()
}

type parquetWriter struct {
	bounds     bounds
	file       *pqarrow.FileWriter
	batch      *array.RecordBuilder
	appends    []func(frame.Value)
	rows       int // in the batch
	bytes      int // of text in the batch
	groupBytes int // of text in the row group
}

// onlyWriter hides everything but Write: the Parquet writer would close what can be closed.
type onlyWriter struct{ io.Writer }

func newParquetWriter(w io.Writer, columns []frame.Column, dictionaries []bool, meta map[string]string, b bounds) (*parquetWriter, error) {
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
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false),
		parquet.WithDictionaryPageSizeLimit(dictionaryPageBytes),
		parquet.WithMaxRowGroupLength(int64(b.groupRows)),
		parquet.WithCreatedBy(createdBy),
	}
	for i, few := range dictionaries {
		if few {
			properties = append(properties, parquet.WithDictionaryPath(leaf(columns[i]), true))
		}
	}
	file, err := pqarrow.NewFileWriter(schema, onlyWriter{w}, parquet.NewWriterProperties(properties...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("start file: %w", err)
	}
	p := &parquetWriter{bounds: b, file: file, batch: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
	for i := range columns {
		appends, err := appender(p.batch.Field(i))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", columns[i].Name, err)
		}
		p.appends = append(p.appends, appends)
	}
	return p, nil
}

// leaf is where the values of a column stand in the schema of the file.
func leaf(c frame.Column) parquet.ColumnPath {
	if c.Type == frame.ListText {
		return parquet.ColumnPath{c.Name, "list", "element"}
	}
	return parquet.ColumnPath{c.Name}
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
	if p.rows < p.bounds.batchRows && p.bytes < p.bounds.batchBytes {
		return nil
	}
	return p.flush()
}

func (p *parquetWriter) flush() error {
	if p.rows == 0 {
		return nil
	}
	if p.groupBytes >= p.bounds.groupBytes {
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
