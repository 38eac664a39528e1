package output

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/braidhq/braid/pkg/frame"
)

// encodeArrow writes record batches without compression, which every reader understands and can map into memory.
func encodeArrow(ctx context.Context, w io.Writer, t *frame.Table, meta map[string]string) (err error) {
	schema := schemaOf(t.Columns, meta)
	file, err := ipc.NewFileWriter(onlyWriter{w}, ipc.WithSchema(schema))
	if err != nil {
		return fmt.Errorf("start file: %w", err)
	}
	r, err := newRecords(schema, usualBounds(), func(batch arrow.RecordBatch, _ int) error { return file.Write(batch) })
	if err != nil {
		return err
	}
	defer r.release()
	for row, err := range t.Rows(ctx) {
		if err == nil {
			err = r.add(row)
		}
		if err != nil { // without a footer nobody takes the file for a table
			return err
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	return file.Close()
}
