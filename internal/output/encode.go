package output

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/braidhq/braid/pkg/frame"
)

const bufferBytes = 128 << 10

// Encode writes a table to w. Parquet and arrow files carry meta as key-value metadata, in bytewise order of the keys; the other
// formats have no place for it. What w has received when an error comes back is no table.
//
// The formats:
//
//   - csv is RFC 4180 with a header, with lines that end in LF. Cells are the server's exact text; lists, json and
//     geometries are JSON text. Null is an empty cell and an empty text is "", so that they differ. A null in a table
//     of one column is therefore an empty line, which some readers skip.
//   - jsonl is one object a line with every column, in column order; null is null. An int64 is its value; float64 and
//     decimal are numbers with the server's digits, respelled only where JSON demands it (+5, .5 and 007 become 5, 0.5
//     and 7); bool is true or false; lists, json and geometries are embedded; all else is a string with the exact text.
//   - parquet is compressed with zstd. Dates are date32, timestamps are microseconds in UTC (what is finer is cut off),
//     int64, float64 and bool are themselves, decimals are 64-bit floats (rounded beyond 15 to 17 digits), list_text is
//     a list of utf8, all else is utf8. The field metadata are braid.type, the declared type, and
//     where they are declared braid.unit, the unit of the values, or braid.unit_column, the column that has it.
//   - arrow is the file format of Arrow IPC, uncompressed, with the columns of parquet.
//   - geojson is a feature collection (RFC 7946) with one feature a line; the first column of the type geometry is the geometry,
//     the others are properties, spelled as in jsonl. A table without such a column is refused: the error wraps ErrNoGeometry.
//   - pgcopy is what PostgreSQL's COPY reads, behind a line that tells the columns (CopyHeader). Decimals have the server's digits,
//     timestamps are in UTC with microseconds, json and geometries are the server's bytes. A value for which PostgreSQL has no place is
//     refused: the error wraps ErrUnstorable.
func Encode(ctx context.Context, w io.Writer, f Format, t *frame.Table, meta map[string]string) error {
	buffered := bufio.NewWriterSize(w, bufferBytes)
	var err error
	switch f {
	case CSV:
		err = encodeCSV(ctx, buffered, t)
	case JSONL:
		err = encodeJSONL(ctx, buffered, t)
	case Parquet:
		err = encodeParquet(ctx, buffered, t, meta)
	case Arrow:
		err = encodeArrow(ctx, buffered, t, meta)
	case PGCopy:
		err = encodePGCopy(ctx, buffered, t)
	case GeoJSON:
		err = encodeGeoJSON(ctx, buffered, t)
	default:
		_, err = known(f, "")
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("encode %s: %w", f, err)
	}
	return nil
}
