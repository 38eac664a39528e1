package output

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
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

// createdBy is fixed, so that equal tables are equal files. Readers look for "NAME version N" and distrust statistics without.
const createdBy = "braid version 1"

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
			p.release()
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

type parquetWriter struct {
	*records
	file       *pqarrow.FileWriter
	groupBytes int // of text in the row group
}

// onlyWriter hides everything but Write: the writers of formats would close what can be closed.
type onlyWriter struct{ io.Writer }

func newParquetWriter(w io.Writer, columns []frame.Column, dictionaries []bool, meta map[string]string, b bounds) (*parquetWriter, error) {
	schema := schemaOf(columns, meta)
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
	p := &parquetWriter{file: file}
	p.records, err = newRecords(schema, b, p.write)
	return p, err
}

// leaf is where the values of a column stand in the schema of the file.
func leaf(c frame.Column) parquet.ColumnPath {
	if c.Type == frame.ListText {
		return parquet.ColumnPath{c.Name, "list", "element"}
	}
	return parquet.ColumnPath{c.Name}
}

func (p *parquetWriter) write(batch arrow.RecordBatch, bytes int) error {
	if p.groupBytes >= p.bounds.groupBytes {
		if err := p.file.NewBufferedRowGroupChecked(); err != nil {
			return fmt.Errorf("start row group: %w", err)
		}
		p.groupBytes = 0
	}
	p.groupBytes += bytes
	return p.file.WriteBuffered(batch)
}

// close writes what is left, and the footer.
func (p *parquetWriter) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.file.Close()
}
