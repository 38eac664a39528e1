package cql2

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// In is the predicate that a property has one of some values.
type In struct {
	Property string
	Values   []string
	Literal  bool // the values are JSON as they stand, numbers or truth values, and not texts
}

// AppendAnd appends to dst the CQL2-JSON filter that all predicates hold, and document, a filter that is JSON itself, with
// them when it is not empty. It is written without white space, and every character beyond ASCII as an escape, so that a
// request has the same bytes everywhere.
func AppendAnd(dst []byte, predicates []In, document string) []byte {
	dst = append(dst, `{"op":"and","args":[`...)
	for i, in := range predicates {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"op":"in","args":[{"property":`...)
		dst = AppendText(dst, in.Property)
		dst = append(dst, "},["...)
		for j, value := range in.Values {
			if j > 0 {
				dst = append(dst, ',')
			}
			if in.Literal {
				dst = append(dst, value...)
			} else {
				dst = AppendText(dst, value)
			}
		}
		dst = append(dst, "]]}"...)
	}
	if document != "" {
		if len(predicates) > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, document...)
	}
	return append(dst, "]}"...)
}

const hexDigits = "0123456789abcdef"

// AppendText appends a JSON string in ASCII.
func AppendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		i += n
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case ' ' <= r && r <= '~':
			dst = append(dst, byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r > 0xffff:
			r -= 0x10000
			dst = appendEscape(appendEscape(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			dst = appendEscape(dst, r)
		}
	}
	return append(dst, '"')
}

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// MaxDepth bounds how deep a filter in JSON nests.
const MaxDepth = 64

// CheckDocument tells what is wrong with a filter in JSON: it is one object, at most MaxDepth deep. What it asks is not judged.
func CheckDocument(text string) error {
	if Depth(text) > MaxDepth {
		return fmt.Errorf("it nests deeper than %d levels", MaxDepth)
	}
	var document map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &document)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON: at byte %s: %w", strconv.FormatInt(syntax.Offset, 10), err)
	case err != nil || document == nil:
		return errors.New("it is JSON and not an object; write {\"op\": …, \"args\": […]}")
	}
	return nil
}
