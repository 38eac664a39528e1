package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/braidhq/braid/pkg/frame"
)

// ErrNoGeometry is wrapped when a table that is to be GeoJSON has no column of the type geometry.
var ErrNoGeometry = errors.New("the table has no column of the type geometry")

// encodeGeoJSON writes a feature collection (RFC 7946), one feature a line. The first column of the type geometry is the features'
// geometry, all other columns are their properties, spelled as in JSON lines.
func encodeGeoJSON(ctx context.Context, w io.Writer, t *frame.Table) error {
	geometry := slices.IndexFunc(t.Columns, func(c frame.Column) bool { return c.Type == frame.Geometry })
	if geometry < 0 {
		return fmt.Errorf("%w; select one, or choose another format", ErrNoGeometry)
	}
	members := make([][]byte, len(t.Columns))
	for i, c := range t.Columns {
		members[i] = append(appendString(nil, c.Name), ':')
	}
	line := []byte(`{"type":"FeatureCollection","features":[`)
	separator := "\n"
	for row, err := range t.Rows(ctx) {
		if err != nil {
			return err
		}
		line = append(append(line, separator...), `{"type":"Feature","geometry":`...)
		if line, err = appendJSON(line, frame.Geometry, row[geometry]); err != nil {
			return fmt.Errorf("column %s: %w", t.Columns[geometry].Name, err)
		}
		line = append(line, `,"properties":{`...)
		first := true
		for i, v := range row {
			if i == geometry {
				continue
			}
			if !first {
				line = append(line, ',')
			}
			first = false
			line = append(line, members[i]...)
			if line, err = appendJSON(line, t.Columns[i].Type, v); err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[i].Name, err)
			}
		}
		if _, err := w.Write(append(line, '}', '}')); err != nil {
			return err
		}
		line, separator = line[:0], ",\n"
	}
	_, err := w.Write(append(line, "\n]}\n"...))
	return err
}
