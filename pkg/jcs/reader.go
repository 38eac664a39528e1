package jcs

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// reader goes over a JSON text once and appends its canonical form to what it is given.
type reader struct {
	text []byte
	at   int
}

func (r *reader) fail(code Code, message string) *Error {
	return &Error{Code: code, Offset: r.at, Message: message}
}

func (r *reader) document(out []byte) ([]byte, *Error) {
	r.blanks()
	out, err := r.value(out, 0)
	if err != nil {
		return nil, err
	}
	r.blanks()
	if r.at < len(r.text) {
		return nil, r.fail(InvalidJSON, "there is text behind the value")
	}
	return out, nil
}

func (r *reader) blanks() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next is the byte that comes, 0 at the end.
func (r *reader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) value(out []byte, depth int) ([]byte, *Error) {
	switch c := r.next(); {
	case (c == '{' || c == '[') && depth == MaxDepth:
		return nil, r.fail(TooDeep, "lists and objects are nested too deeply")
	case c == '{':
		return r.object(out, depth+1)
	case c == '[':
		return r.list(out, depth+1)
	case c == '"':
		s, err := r.string()
		if err != nil {
			return nil, err
		}
		return AppendString(out, s), nil
	case c == '-' || c >= '0' && c <= '9':
		return r.number(out)
	}
	for _, word := range []string{"true", "false", "null"} {
		if end := r.at + len(word); end <= len(r.text) && string(r.text[r.at:end]) == word {
			r.at = end
			return append(out, word...), nil
		}
	}
	return nil, r.fail(InvalidJSON, "a JSON value is missing")
}

func (r *reader) list(out []byte, depth int) ([]byte, *Error) {
	r.at++
	out = append(out, '[')
	r.blanks()
	if r.next() == ']' {
		r.at++
		return append(out, ']'), nil
	}
	for {
		var err *Error
		if out, err = r.value(out, depth); err != nil {
			return nil, err
		}
		r.blanks()
		switch r.next() {
		case ',':
			out = append(out, ',')
		case ']':
			r.at++
			return append(out, ']'), nil
		default:
			return nil, r.fail(InvalidJSON, "a list needs a comma or its end here")
		}
		r.at++
		r.blanks()
	}
}

func (r *reader) object(out []byte, depth int) ([]byte, *Error) {
	r.at++
	var members []member
	given := make(map[string]bool)
	r.blanks()
	if r.next() == '}' {
		r.at++
		return append(out, '{', '}'), nil
	}
	for {
		m, err := r.member(given, depth)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
		r.blanks()
		switch r.next() {
		case ',':
		case '}':
			r.at++
			return appendObject(out, members), nil
		default:
			return nil, r.fail(InvalidJSON, "an object needs a comma or its end here")
		}
		r.at++
		r.blanks()
	}
}

func (r *reader) member(given map[string]bool, depth int) (member, *Error) {
	if r.next() != '"' {
		return member{}, r.fail(InvalidJSON, "a member's name is missing")
	}
	begin := r.at
	name, err := r.string()
	if err != nil {
		return member{}, err
	}
	if given[name] {
		return member{}, &Error{Code: DuplicateKey, Offset: begin, Message: "the member " + strconv.Quote(name) + " is given twice"}
	}
	given[name] = true
	r.blanks()
	if r.next() != ':' {
		return member{}, r.fail(InvalidJSON, "a member needs a colon behind its name")
	}
	r.at++
	r.blanks()
	value, err := r.value(nil, depth)
	if err != nil {
		return member{}, err
	}
	return newMember(name, value), nil
}

func (r *reader) string() (string, *Error) {
	r.at++
	var s []byte
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return string(s), nil
		case c == '\\':
			decoded, err := r.escape()
			if err != nil {
				return "", err
			}
			s = utf8.AppendRune(s, decoded)
		case c < 0x20:
			return "", r.fail(InvalidJSON, "a control character stands in a text; escape it")
		case c < utf8.RuneSelf:
			s = append(s, c)
			r.at++
		default:
			decoded, size := utf8.DecodeRune(r.text[r.at:])
			if decoded == utf8.RuneError && size == 1 {
				return "", r.fail(InvalidUnicode, "the text is not UTF-8")
			}
			s = append(s, r.text[r.at:r.at+size]...)
			r.at += size
		}
	}
	return "", r.fail(InvalidJSON, "a text has no end")
}

func (r *reader) escape() (rune, *Error) {
	begin := r.at
	r.at++
	c := r.next()
	r.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return r.unit(begin)
	}
	r.at = begin
	return 0, r.fail(InvalidJSON, "there is no such escape")
}

// unit reads what stands behind \u, and the second half of a pair with it.
func (r *reader) unit(begin int) (rune, *Error) {
	first, ok := r.hex()
	if !ok {
		r.at = begin
		return 0, r.fail(InvalidJSON, `\u needs four hexadecimal digits`)
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if r.at+1 < len(r.text) && r.text[r.at] == '\\' && r.text[r.at+1] == 'u' {
		r.at += 2
		second, ok := r.hex()
		if !ok {
			return 0, r.fail(InvalidJSON, `\u needs four hexadecimal digits`)
		}
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			return pair, nil
		}
	}
	r.at = begin
	return 0, r.fail(InvalidUnicode, "half of a surrogate pair stands alone")
}

func (r *reader) hex() (rune, bool) {
	if r.at+4 > len(r.text) {
		return 0, false
	}
	var unit rune
	for _, c := range r.text[r.at : r.at+4] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	r.at += 4
	return unit, true
}

func (r *reader) digits() int {
	begin := r.at
	for c := r.next(); c >= '0' && c <= '9'; c = r.next() {
		r.at++
	}
	return r.at - begin
}

func (r *reader) number(out []byte) ([]byte, *Error) {
	begin, integer := r.at, true
	if r.next() == '-' {
		r.at++
	}
	if r.next() == '0' {
		r.at++
	} else if r.digits() == 0 {
		return nil, r.fail(InvalidJSON, "a number needs a digit here")
	}
	if r.next() == '.' {
		integer = false
		r.at++
		if r.digits() == 0 {
			return nil, r.fail(InvalidJSON, "a number needs a digit behind its point")
		}
	}
	if c := r.next(); c == 'e' || c == 'E' {
		integer = false
		r.at++
		if c := r.next(); c == '+' || c == '-' {
			r.at++
		}
		if r.digits() == 0 {
			return nil, r.fail(InvalidJSON, "a number needs a digit in its exponent")
		}
	}
	const safe = 1<<53 - 1
	f, err := strconv.ParseFloat(string(r.text[begin:r.at]), 64)
	switch {
	case integer && math.Abs(f) > safe: // 2^53 itself and what rounds to it is beyond
		return nil, &Error{Code: NumberUnsafe, Offset: begin, Message: "the integer is beyond ±(2^53 − 1); write it as a text"}
	case err != nil:
		return nil, &Error{Code: NumberRange, Offset: begin, Message: "the number is beyond a double"}
	}
	return appendNumber(out, f), nil
}
