package output

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/frame"
)

// PGCopy is the stream that a table travels in on its way to PostgreSQL: a line of JSON, which is a CopyHeader, and then what COPY
// reads in its text format (FORMAT text, ENCODING UTF8) for exactly these columns. It is no format of files.
const PGCopy Format = "pgcopy"

// ErrUnstorable is wrapped when PostgreSQL has no place for a value: a zero byte in a text, or a number with more digits than
// numeric takes.
var ErrUnstorable = errors.New("PostgreSQL cannot keep this value")

// CopyHeader tells what rows a stream of the format pgcopy has.
type CopyHeader struct {
	V       int          `json:"v"`
	Columns []CopyColumn `json:"columns"`
	Key     []string     `json:"key"` // the columns that tell rows apart; none: nothing does
}

// CopyColumn is a column, with its type as it is declared.
type CopyColumn struct {
	Name string     `json:"name"`
	Type frame.Type `json:"type"`
}

const (
	copyVersion     = 1
	maxHeaderBytes  = 4 << 20
	maxNumericScale = 16383 // digits behind the point that PostgreSQL's numeric takes
)

// HeaderOf gives the header of a table's stream.
func HeaderOf(t *frame.Table) *CopyHeader {
	h := &CopyHeader{V: copyVersion, Columns: make([]CopyColumn, len(t.Columns)), Key: append([]string{}, t.Key...)}
	for i, c := range t.Columns {
		h.Columns[i] = CopyColumn{c.Name, c.Type}
	}
	return h
}

// ReadCopyHeader reads the first line of a stream, of at most 4 MiB. What follows in r are rows.
func ReadCopyHeader(r *bufio.Reader) (*CopyHeader, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxHeaderBytes:
			return nil, fmt.Errorf("the first line is longer than %d bytes", maxHeaderBytes)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		break
	}
	var h CopyHeader
	decoder := json.NewDecoder(bytes.NewReader(line))
	if err := decoder.Decode(&h); err != nil {
		return nil, fmt.Errorf("the first line is not that of the format pgcopy: %w", err)
	}
	if h.V != copyVersion {
		return nil, fmt.Errorf("the stream has version %d and this Braid reads %d; use a braid of the coordinator's version", h.V, copyVersion)
	}
	return &h, nil
}

func encodePGCopy(ctx context.Context, w io.Writer, t *frame.Table) error {
	line, err := json.Marshal(HeaderOf(t))
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	number := int64(0)
	for row, err := range t.Rows(ctx) {
		if err != nil {
			return err
		}
		number++
		line = line[:0]
		for i, v := range row {
			if i > 0 {
				line = append(line, '\t')
			}
			if line, err = appendCopy(line, t.Columns[i].Type, v); err != nil {
				return fmt.Errorf("row %d, column %s: %w", number, t.Columns[i].Name, err)
			}
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// appendCopy spells a value as the input function of its type in PostgreSQL reads it, whatever the settings of the session are.
func appendCopy(line []byte, t frame.Type, v frame.Value) ([]byte, error) {
	if v.Null {
		return append(line, `\N`...), nil
	}
	switch t {
	case frame.Int64:
		return strconv.AppendInt(line, v.Int64(), 10), nil
	case frame.Float64: // a text such as 1e-400 is zero for us, and out of range for PostgreSQL
		return strconv.AppendFloat(line, v.Float64(), 'g', -1, 64), nil
	case frame.Decimal:
		if scale := numericScale(v.Text); scale > maxNumericScale {
			return nil, fmt.Errorf("%w: %.40s has %d digits behind the point, and numeric takes %d; leave the column out with select, or declare it float64",
				ErrUnstorable, v.Text, scale, maxNumericScale)
		}
		return append(line, v.Text...), nil
	case frame.Bool:
		return strconv.AppendBool(line, v.Bool()), nil
	case frame.Timestamp:
		return appendMoment(line, v.Micros()), nil
	case frame.ListText:
		return appendCopyText(line, arrayOf(v.List()))
	default:
		return appendCopyText(line, v.Text)
	}
}

// numericScale is how many digits a number has behind its point when it is written without an exponent.
func numericScale(text string) int {
	mantissa, power := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		power, _ = strconv.Atoi(text[i+1:]) // it has been read as a number before
	}
	_, fraction, _ := strings.Cut(mantissa, ".")
	return len(fraction) - power
}

// appendMoment writes microseconds since 1970 as a time in UTC. A year before the first is counted backwards, as PostgreSQL has it.
func appendMoment(line []byte, micros int64) []byte {
	const layout = "-01-02 15:04:05.999999+00"
	at := time.UnixMicro(micros).UTC()
	year, era := at.Year(), ""
	if year <= 0 {
		year, era = 1-year, " BC"
	}
	for pad := 1000; pad > max(year, 1); pad /= 10 {
		line = append(line, '0')
	}
	line = strconv.AppendInt(line, int64(year), 10)
	return append(at.AppendFormat(line, layout), era...)
}

// arrayOf is PostgreSQL's spelling of a list of texts. All are quoted, so that none is taken for null.
func arrayOf(texts []string) string {
	list := []byte{'{'}
	for i, text := range texts {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, '"')
		for _, c := range []byte(text) {
			if c == '"' || c == '\\' {
				list = append(list, '\\')
			}
			list = append(list, c)
		}
		list = append(list, '"')
	}
	return string(append(list, '}'))
}

func appendCopyText(line []byte, text string) ([]byte, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%w: the text has a zero byte in it (U+0000); leave the column out with select, or write the table to a file", ErrUnstorable)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: the text is not UTF-8; leave the column out with select, or write the table to a file", ErrUnstorable)
	}
	for {
		i := strings.IndexAny(text, "\\\n\r\t")
		if i < 0 {
			return append(line, text...), nil
		}
		line = append(append(line, text[:i]...), '\\')
		switch text[i] {
		case '\n':
			line = append(line, 'n')
		case '\r':
			line = append(line, 'r')
		case '\t':
			line = append(line, 't')
		default:
			line = append(line, text[i])
		}
		text = text[i+1:]
	}
}
