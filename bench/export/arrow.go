package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// arrow is the reference: the same table, read into memory, and then written by the arrow library alone, with the compression
// that the product uses and the library's own choice of encodings.
func (c config) arrow(ctx context.Context) (err error) {
	reader, err := file.OpenParquetFile(c.file("parquet"), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	rows, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{BatchSize: 8 << 10}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	table, err := rows.ReadTable(ctx)
	if err != nil {
		return err
	}
	defer table.Release()
	out, err := os.Create(c.file("arrow.parquet"))
	if err != nil {
		return err
	}
	started := time.Now()
	err = pqarrow.WriteTable(table, struct{ io.Writer }{out}, 128<<10,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)), pqarrow.DefaultWriterProps())
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	fmt.Fprintln(c.stdout, time.Since(started).Seconds())
	return nil
}
