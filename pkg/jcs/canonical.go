package jcs

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of a text.
const (
	MaxBytes = 16 << 20
	MaxDepth = 128
)

// Canonical gives the canonical form of a JSON text. The error is an *Error, for the first problem in the text.
func Canonical(text []byte) ([]byte, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Code: TooLarge, Offset: MaxBytes, Message: "the text is longer than 16 MiB"}
	}
	r := &reader{text: text}
	out, err := r.document(make([]byte, 0, len(text)))
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Hash is the lower-case hex SHA-256 of the canonical form. The error is an *Error.
func Hash(text []byte) (string, error) {
	canonical, err := Canonical(text)
	if err != nil {
		return "", err
	}
	return Sum(canonical), nil
}

// Sum is the lower-case hex SHA-256 of a text that is canonical already.
func Sum(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// AppendString appends the canonical form of a text to out. What is not UTF-8 becomes U+FFFD.
func AppendString(out []byte, s string) []byte {
	out = append(out, '"')
	for _, c := range s {
		out = appendRune(out, c)
	}
	return append(out, '"')
}

func appendRune(out []byte, c rune) []byte {
	const hexDigits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(out, '\\', byte(c))
	case '\b':
		return append(out, '\\', 'b')
	case '\t':
		return append(out, '\\', 't')
	case '\n':
		return append(out, '\\', 'n')
	case '\f':
		return append(out, '\\', 'f')
	case '\r':
		return append(out, '\\', 'r')
	}
	if c < 0x20 {
		return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return utf8.AppendRune(out, c)
}

// appendNumber writes a double as ECMAScript does.
func appendNumber(out []byte, f float64) []byte {
	magnitude := math.Abs(f)
	switch {
	case f == 0:
		return append(out, '0') // -0 too
	case magnitude >= 1e-6 && magnitude < 1e21:
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, f, 'e', -1, 64)
	if n := len(out); out[n-4] == 'e' && out[n-2] == '0' { // e-07 is e-7 there
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out
}

// member is one member of an object, its value in canonical form.
type member struct {
	name  string
	units []uint16
	value []byte
}

// appendObject orders the members by the UTF-16 code units of their names.
func appendObject(out []byte, members []member) []byte {
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.units, b.units) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

func newMember(name string, value []byte) member {
	return member{name: name, units: utf16.Encode([]rune(name)), value: value}
}
