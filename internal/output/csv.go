package output

import (
	"context"
	"io"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
)

// encodeCSV does by hand what encoding/csv cannot: write an empty text so that it differs from null.
func encodeCSV(ctx context.Context, w io.Writer, t *frame.Table) error {
	var line []byte
	for i, c := range t.Columns {
		line = appendCell(line, i, frame.Value{Text: c.Name})
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	for row, err := range t.Rows(ctx) {
		if err != nil {
			return err
		}
		line = line[:0]
		for i, v := range row {
			line = appendCell(line, i, v)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func appendCell(line []byte, column int, v frame.Value) []byte {
	if column > 0 {
		line = append(line, ',')
	}
	if v.Null {
		return line
	}
	if !needsQuotes(v.Text) {
		return append(line, v.Text...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(v.Text, `"`, `""`)...)
	return append(line, '"')
}

// needsQuotes is also true for blanks at the ends, which many readers cut off when they are bare.
func needsQuotes(text string) bool {
	return text == "" || strings.ContainsAny(text, ",\"\r\n") || strings.TrimSpace(text) != text
}
