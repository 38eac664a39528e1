package output

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
)

func encodeJSONL(ctx context.Context, w io.Writer, t *frame.Table) error {
	members := make([][]byte, len(t.Columns))
	for i, c := range t.Columns {
		members[i] = append(appendString(nil, c.Name), ':')
	}
	var line []byte
	for row, err := range t.Rows(ctx) {
		if err != nil {
			return err
		}
		line = append(line[:0], '{')
		for i, v := range row {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, members[i]...)
			if line, err = appendJSON(line, t.Columns[i].Type, v); err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[i].Name, err)
			}
		}
		if _, err := w.Write(append(line, '}', '\n')); err != nil {
			return err
		}
	}
	return nil
}

func appendJSON(line []byte, t frame.Type, v frame.Value) ([]byte, error) {
	if v.Null {
		return append(line, "null"...), nil
	}
	switch t {
	case frame.Int64:
		return strconv.AppendInt(line, v.Int64(), 10), nil
	case frame.Float64, frame.Decimal:
		return appendNumber(line, v.Text), nil
	case frame.Bool:
		return strconv.AppendBool(line, v.Bool()), nil
	case frame.ListText, frame.JSON, frame.Geometry:
		return appendOneLine(line, v.Text)
	default:
		return appendString(line, v.Text), nil
	}
}

// appendNumber spells a number as JSON wants it; a JSON number stays as it is.
func appendNumber(line []byte, text string) []byte {
	text = strings.TrimPrefix(text, "+")
	if unsigned, negative := strings.CutPrefix(text, "-"); negative {
		line, text = append(line, '-'), unsigned
	}
	whole, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		whole, exponent = text[:i], text[i:]
	}
	whole, fraction, _ := strings.Cut(whole, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	line = append(line, whole...)
	if fraction != "" {
		line = append(append(line, '.'), fraction...)
	}
	return append(line, exponent...)
}

// appendOneLine embeds JSON text. A text that was cast to JSON may hold line breaks between its tokens.
func appendOneLine(line []byte, text string) ([]byte, error) {
	if !strings.ContainsAny(text, "\r\n") {
		return append(line, text...), nil
	}
	compact := bytes.NewBuffer(line)
	if err := json.Compact(compact, []byte(text)); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// appendString escapes what JSON forbids in a string and nothing else.
func appendString(line []byte, text string) []byte {
	const hex = "0123456789abcdef"
	line = append(line, '"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			line = append(line, '\\', c)
		case c == '\n':
			line = append(line, '\\', 'n')
		case c == '\r':
			line = append(line, '\\', 'r')
		case c == '\t':
			line = append(line, '\\', 't')
		case c < ' ':
			line = append(line, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			line = append(line, c)
		}
	}
	return append(line, '"')
}
