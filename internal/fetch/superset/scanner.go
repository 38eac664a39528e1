package superset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/braidhq/braid/pkg/load"
)

const (
	maxDepth      = 128
	maxKeyBytes   = 64
	maxFieldBytes = 2 << 10  // of a field that is kept of one query; they go into the execution's record
	maxListBytes  = 64 << 10 // of rejected_filters, of which only names of columns are told
	maxQueries    = 1000     // tasks of one request
)

// errNotJSON is a text that is not what chart/data answers with.
var errNotJSON = errors.New("not the JSON of an answer")

// state is where the scanner stands in the text.
type state uint8

const (
	wantValue state = iota
	wantValueOrEnd
	wantKeyOrEnd
	wantKey
	wantColon
	afterValue
	inString
	inEscape
	inHex
	inLiteral
	numMinus
	numZero
	numInt
	numPoint
	numFrac
	numE
	numSign
	numExp
	atEnd
)

// found is what the scanner keeps of one member of result.
type found struct {
	object  bool
	fields  map[string]json.RawMessage
	rows    int64 // members of data, when it is a list
	dataAt  int64 // where its data stands in what was written to the scanner's data
	dataLen int64
}

// scanner reads an answer of chart/data as it comes, in pieces of any size, and keeps of it what a load run needs: for each member of result
// the few fields that tell of the cache and the number of rows, the first rows of the first one, and where the texts of data stand. The
// texts themselves go to data, byte for byte. What it holds is bounded whatever comes. It takes exactly the texts that are JSON, as
// long as they nest no deeper than maxDepth, and no name twice where a name counts. Used by one goroutine.
type scanner struct {
	most   int       // of the members of result that are looked at: as many as the request has queries; more are counted
	data   io.Writer // takes the raw texts of all members data, one after the other; its errors end the copying and are kept in dataErr
	sample *load.Sampler

	state    state
	stack    []byte // open { and [
	key      []byte // of the member that is being read, raw; nil: longer than one that counts
	isKey    bool
	escaped  bool // the key has escapes
	literal  string
	hex      int
	inResult bool
	seen     bool // result, as a list

	queries []*found
	count   int    // of the members of result
	field   string // whose value is being kept; empty: none
	from    int    // where in the piece what is kept of it begins
	inRow   bool
	rowFrom int
	row     []byte // what has been read of the row, as far as there is room for it
	rowLong bool
	written int64
	dataErr error
}

func newScanner(queries int, data io.Writer, bounds load.SampleBounds) *scanner {
	return &scanner{most: queries, data: data, sample: load.NewSampler(bounds), stack: make([]byte, 0, maxDepth)}
}

// wanted are the members of a query result that count.
func wanted(key string) bool {
	switch key {
	case "is_cached", "cached_dttm", "queried_dttm", "cache_timeout", "cache_key", "rowcount", "rejected_filters", "data":
		return true
	}
	return false
}

// Write reads a piece. An error is final.
func (s *scanner) Write(p []byte) (int, error) {
	s.from, s.rowFrom = 0, 0
	for i := 0; i < len(p); {
		n, err := s.step(p, i)
		if err != nil {
			return i, err
		}
		i = n
	}
	if s.field != "" {
		if err := s.keep(p[s.from:]); err != nil {
			return len(p), err
		}
	}
	if s.inRow {
		s.keepRow(p[s.rowFrom:])
	}
	return len(p), nil
}

// keepRow takes a part of the row that the sample has room for.
func (s *scanner) keepRow(part []byte) {
	if s.rowLong = s.rowLong || len(s.row)+len(part) > s.sample.Room(); s.rowLong {
		s.row = s.row[:0]
		return
	}
	s.row = append(s.row, part...)
}

// close tells whether the text was whole.
func (s *scanner) close() error {
	bare := len(s.stack) == 0 && (s.state == numZero || s.state == numInt || s.state == numFrac || s.state == numExp)
	switch {
	case s.state != atEnd && !bare:
		return fmt.Errorf("%w: it ends in the middle", errNotJSON)
	case !s.seen:
		return fmt.Errorf("%w: it has no list `result`", errNotJSON)
	}
	return nil
}

// step reads on from p[i] and gives where it stands then.
func (s *scanner) step(p []byte, i int) (int, error) {
	switch s.state {
	case inString:
		return s.text(p, i)
	case numMinus, numZero, numInt, numPoint, numFrac, numE, numSign, numExp:
		return s.number(p, i)
	default:
		return s.byte(p, i, p[i])
	}
}

// byte reads one that is no text's and no number's.
func (s *scanner) byte(p []byte, i int, c byte) (int, error) {
	switch s.state {
	case inEscape:
		return i + 1, s.escape(c)
	case inHex:
		if !isHex(c) {
			return i, s.bad(c)
		}
		if s.hex--; s.hex == 0 {
			s.state = inString
		}
		s.addKey(c)
		return i + 1, nil
	case inLiteral:
		if c != s.literal[0] {
			return i, s.bad(c)
		}
		if s.literal = s.literal[1:]; s.literal == "" {
			return i + 1, s.ended(p, i+1)
		}
		return i + 1, nil
	default:
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			return i + 1, nil
		}
		return i + 1, s.structure(p, i, c)
	}
}

// structure reads a byte between values.
func (s *scanner) structure(p []byte, i int, c byte) error {
	switch s.state {
	case wantKey, wantKeyOrEnd:
		switch {
		case c == '"':
			s.state, s.isKey, s.escaped, s.key = inString, true, false, s.key[:0]
			if s.key == nil {
				s.key = make([]byte, 0, maxKeyBytes)
			}
			return nil
		case c == '}' && s.state == wantKeyOrEnd:
			return s.closed(p, i)
		}
	case wantColon:
		if c == ':' {
			s.state = wantValue
			return nil
		}
	case wantValue, wantValueOrEnd:
		if c == ']' && s.state == wantValueOrEnd {
			return s.closed(p, i)
		}
		return s.value(i, c)
	case afterValue:
		top := s.stack[len(s.stack)-1]
		switch {
		case c == ',' && top == '{':
			s.state = wantKey
			return nil
		case c == ',':
			s.state = wantValue
			return nil
		case c == '}' && top == '{', c == ']' && top == '[':
			return s.closed(p, i)
		}
	default: // behind the end nothing may stand
	}
	return s.bad(c)
}

// value begins one.
func (s *scanner) value(i int, c byte) error {
	if err := s.begun(i, c); err != nil {
		return err
	}
	switch {
	case c == '{' || c == '[':
		if len(s.stack) == maxDepth {
			return fmt.Errorf("%w: it nests deeper than %d", errNotJSON, maxDepth)
		}
		s.stack = append(s.stack, c)
		s.state = wantKeyOrEnd
		if c == '[' {
			s.state = wantValueOrEnd
		}
	case c == '"':
		s.state, s.isKey = inString, false
	case c == '-':
		s.state = numMinus
	case c == '0':
		s.state = numZero
	case '1' <= c && c <= '9':
		s.state = numInt
	case c == 't':
		s.state, s.literal = inLiteral, "rue"
	case c == 'f':
		s.state, s.literal = inLiteral, "alse"
	case c == 'n':
		s.state, s.literal = inLiteral, "ull"
	default:
		return s.bad(c)
	}
	return nil
}

// begun notes what the value at p[i] is, by where it stands.
func (s *scanner) begun(i int, c byte) error {
	switch depth := len(s.stack); {
	case depth == 1 && s.stack[0] == '{' && s.name() == "result":
		if s.seen {
			return fmt.Errorf("%w: it has `result` twice", errNotJSON)
		}
		s.seen, s.inResult = c == '[', c == '['
	case depth == 2 && s.inResult:
		if s.count++; s.count <= s.most {
			s.queries = append(s.queries, &found{object: c == '{', fields: map[string]json.RawMessage{}})
		}
	case depth == 3 && s.inResult && s.stack[2] == '{' && s.count <= s.most:
		return s.openField(i, s.name())
	case depth == 4 && s.field == "data" && s.stack[3] == '[':
		q := s.queries[len(s.queries)-1]
		q.rows++
		switch {
		case len(s.queries) > 1:
		case s.sample.Room() == 0:
			s.sample.Skip()
		default:
			s.inRow, s.rowFrom, s.row, s.rowLong = true, i, s.row[:0], false
		}
	}
	return nil
}

func (s *scanner) openField(i int, name string) error {
	if !wanted(name) {
		return nil
	}
	q := s.queries[len(s.queries)-1]
	if _, twice := q.fields[name]; twice {
		return fmt.Errorf("%w: it has `%s` twice in one result", errNotJSON, name)
	}
	q.fields[name] = nil
	s.field, s.from = name, i
	if name == "data" {
		q.dataAt = s.written
	}
	return nil
}

// ended notes that the value that stood at the present depth has ended before p[end].
func (s *scanner) ended(p []byte, end int) error {
	s.state = afterValue
	switch depth := len(s.stack); {
	case depth == 0:
		s.state = atEnd
	case depth == 1:
		s.inResult = false
	case depth == 3 && s.field != "":
		if err := s.keep(p[s.from:end]); err != nil {
			return err
		}
		if s.field == "data" {
			q := s.queries[len(s.queries)-1]
			q.dataLen = s.written - q.dataAt
		}
		s.field = ""
	case depth == 4 && s.inRow:
		s.inRow = false
		if s.keepRow(p[s.rowFrom:end]); s.rowLong {
			s.sample.Skip()
		} else {
			s.sample.Add(s.row)
		}
	}
	return nil
}

// closed ends the object or list that is open, with the bracket at p[i].
func (s *scanner) closed(p []byte, i int) error {
	s.stack = s.stack[:len(s.stack)-1]
	return s.ended(p, i+1)
}

// keep takes a part of the value of the field that counts.
func (s *scanner) keep(part []byte) error {
	if s.field == "data" {
		s.written += int64(len(part))
		if s.dataErr == nil {
			_, s.dataErr = s.data.Write(part)
		}
		return nil
	}
	q := s.queries[len(s.queries)-1]
	most := maxFieldBytes
	if s.field == "rejected_filters" {
		most = maxListBytes
	}
	if len(q.fields[s.field])+len(part) > most {
		return fmt.Errorf("%w: `%s` of a result has more than %d bytes", errNotJSON, s.field, most)
	}
	q.fields[s.field] = append(q.fields[s.field], part...)
	return nil
}

// text reads on in a string.
func (s *scanner) text(p []byte, i int) (int, error) {
	for begin := i; i < len(p); i++ {
		switch c := p[i]; {
		case c == '"':
			s.addKey(p[begin:i]...)
			if s.isKey {
				s.state = wantColon
				return i + 1, nil
			}
			return i + 1, s.ended(p, i+1)
		case c == '\\':
			s.addKey(p[begin : i+1]...)
			s.state, s.escaped = inEscape, true
			return i + 1, nil
		case c < ' ':
			return i, s.bad(c)
		case i == len(p)-1:
			s.addKey(p[begin:]...)
		}
	}
	return i, nil
}

func (s *scanner) escape(c byte) error {
	s.addKey(c)
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.state = inString
	case 'u':
		s.state, s.hex = inHex, 4
	default:
		return s.bad(c)
	}
	return nil
}

func (s *scanner) addKey(part ...byte) {
	switch {
	case !s.isKey || s.key == nil:
	case len(s.key)+len(part) > maxKeyBytes:
		s.key = nil // no name that counts is so long
	default:
		s.key = append(s.key, part...)
	}
}

// name is the key of the member that is being read.
func (s *scanner) name() string {
	if !s.escaped {
		return string(s.key)
	}
	var name string
	if json.Unmarshal([]byte(`"`+string(s.key)+`"`), &name) != nil {
		return ""
	}
	return name
}

// number reads on in a number, which ends before the first byte that is none of it.
func (s *scanner) number(p []byte, i int) (int, error) {
	for ; i < len(p); i++ {
		next, ok := nextOfNumber(s.state, p[i])
		if !ok {
			switch s.state {
			case numZero, numInt, numFrac, numExp:
				return i, s.ended(p, i)
			default:
				return i, s.bad(p[i])
			}
		}
		s.state = next
	}
	return i, nil
}

func nextOfNumber(at state, c byte) (state, bool) {
	digit := '0' <= c && c <= '9'
	switch at {
	case numMinus:
		if c == '0' {
			return numZero, true
		}
		return numInt, digit
	case numZero, numInt, numFrac:
		switch {
		case digit && at != numZero:
			return at, true
		case c == '.' && at != numFrac:
			return numPoint, true
		case c == 'e' || c == 'E':
			return numE, true
		}
		return at, false
	case numPoint:
		return numFrac, digit
	case numE:
		if c == '+' || c == '-' {
			return numSign, true
		}
		return numExp, digit
	default: // behind a sign, or in the exponent
		return numExp, digit
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) bad(c byte) error {
	return fmt.Errorf("%w: %q stands where it cannot", errNotJSON, rune(c))
}
