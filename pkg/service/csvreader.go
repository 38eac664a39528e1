package service

import (
	"bytes"
	"fmt"
)

// csvReader reads a table of RFC 4180: lines end with LF or CRLF, and a value in quotes may hold separators, line ends and
// doubled quotes. Beyond the RFC, a quote inside a value that does not begin with one stands for itself, blank lines are
// passed over, and a definition may name another separator and a character that begins lines of comment.
type csvReader struct {
	text      []byte // unread
	separator byte
	comment   byte // 0: none
	line      int  // number of the last line that was begun
	begin     int  // number of the line where the last record begins
	ended     bool // the last record ended with the text and not with a line end
	fields    [][]byte
}

// csvError tells where a table cannot be read.
type csvError struct {
	problem string
	cutOff  bool // the text ends too early
}

func (e *csvError) Error() string { return e.problem }

// record reads the next record into fields, which are valid as long as the text; false at the end.
func (r *csvReader) record() (bool, error) {
	for r.skipLine() {
	}
	if len(r.text) == 0 {
		return false, nil
	}
	r.line++
	r.begin = r.line
	r.fields = r.fields[:0]
	for more := true; more; {
		if len(r.fields) == maxColumns {
			return false, &csvError{problem: fmt.Sprintf("line %d has more than %d values", r.begin, maxColumns)}
		}
		read := r.plain
		if len(r.text) > 0 && r.text[0] == '"' {
			read = r.quoted
		}
		field, err := read()
		if err != nil {
			return false, err
		}
		r.fields = append(r.fields, field)
		if more, err = r.separated(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// skipLine passes over a blank line or a comment. One value of spaces is no row of a table with several columns.
func (r *csvReader) skipLine() bool {
	if len(r.text) == 0 {
		return false
	}
	first := r.text[0]
	isComment := r.comment != 0 && first == r.comment
	if !isComment && first != '\n' && first != '\r' && (first != ' ' || len(r.fields) == 1) {
		return false
	}
	line, rest, _ := bytes.Cut(r.text, []byte{'\n'})
	if !isComment && len(bytes.Trim(line, " \r")) > 0 {
		return false
	}
	r.text, r.line = rest, r.line+1
	return true
}

// plain reads a value without quotes around it.
func (r *csvReader) plain() ([]byte, error) {
	end := 0
	for end < len(r.text) && r.text[end] != r.separator && r.text[end] != '\n' {
		end++
	}
	field := r.text[:end]
	if end == len(r.text) || r.text[end] == '\n' {
		field = bytes.TrimSuffix(field, []byte{'\r'})
	}
	if bytes.IndexByte(field, '\r') >= 0 {
		return nil, &csvError{problem: fmt.Sprintf("line %d has a carriage return within a value that is not in quotes", r.line)}
	}
	r.text = r.text[end:]
	return field, nil
}

// quoted reads a value in quotes, to the closing one.
func (r *csvReader) quoted() ([]byte, error) {
	begin, rest := r.line, r.text[1:]
	var parts []byte // of a value with doubled quotes
	for {
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return nil, &csvError{problem: fmt.Sprintf("the value in quotes that begins in line %d is not closed", begin), cutOff: true}
		}
		r.line += bytes.Count(rest[:end], []byte{'\n'})
		if end+1 < len(rest) && rest[end+1] == '"' {
			parts = append(parts, rest[:end+1]...)
			rest = rest[end+2:]
			continue
		}
		field := rest[:end]
		if parts != nil {
			field = append(parts, field...)
		}
		r.text = rest[end+1:]
		return field, nil
	}
}

// separated consumes what stands behind a value, and tells whether another one follows.
func (r *csvReader) separated() (bool, error) {
	r.ended = false
	switch {
	case len(r.text) == 0 || string(r.text) == "\r":
		r.text, r.ended = nil, true
		return false, nil
	case r.text[0] == r.separator:
		r.text = r.text[1:]
		return true, nil
	case r.text[0] == '\n':
		r.text = r.text[1:]
		return false, nil
	case r.text[0] == '\r' && r.text[1] == '\n':
		r.text = r.text[2:]
		return false, nil
	}
	return false, &csvError{problem: fmt.Sprintf("line %d has text behind a closing quote", r.line)}
}
