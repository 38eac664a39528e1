package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

const (
	maxJSONDepth = 32
	maxJSONKeys  = 1024    // of one object
	maxJSONParts = 1 << 16 // keys and elements of lists, beside a query's values
	shownKey     = 60      // bytes of a key in a message
)

// screened refuses of a JSON body what the decoder would pass over in silence, so that two readers of it might understand two things: keys
// that stand twice, also in another case, other encodings than UTF-8, halves of characters, and NUL. It also bounds depth and numbers, so that nothing is decoded that is refused for them, and names the fields
// of T that are misspelt. What is no JSON at all is left to the decoder. An error is a problem.
func screened[T any](data []byte, slug string) error {
	refuse := func(path, message string) error {
		detail := message
		if path != "" {
			detail = path + ": " + message
		}
		var fields []contract.FieldError
		if path != "" {
			fields = append(fields, contract.FieldError{Location: path, Message: message})
		}
		return contract.NewProblem(contract.KindNamed(slug), detail, fields...)
	}
	if !utf8.Valid(data) {
		return refuse("", "the body is not UTF-8")
	}
	if !json.Valid(data) {
		return nil
	}
	s := screen{data: data}
	if err := s.run(); err != nil {
		return refuse(s.path(), err.Error())
	}
	known := fieldsOf(reflect.TypeFor[T]())
	for _, key := range s.top {
		if slices.Contains(known, key) {
			continue
		}
		message := "unknown field" + strictyaml.DidYouMean(key, known)
		if key == "output" {
			message = "unknown field: where a table is written is up to whoever asks for it; take it from " + resultsPath
		}
		return refuse(fmt.Sprintf("%.*s", shownKey, key), message)
	}
	return nil
}

// fieldsOf gives the names of a struct's fields in JSON.
func fieldsOf(t reflect.Type) []string {
	var names []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// screen reads valid JSON once, without keeping its values.
type screen struct {
	data  []byte
	at    int
	stack []level
	top   []string // keys of the outermost object

	values, parts int // elements of lists below values; keys and all other elements
}

// level is an object or a list that is being read.
type level struct {
	keys  map[string]struct{} // nil: a list
	key   string
	index int
	named bool // the key was read, and its value has not ended
}

func (s *screen) run() error {
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '{', '[':
			if len(s.stack) == maxJSONDepth {
				return fmt.Errorf("it is nested deeper than %d levels", maxJSONDepth)
			}
			var l level
			if s.data[s.at] == '{' {
				l.keys = map[string]struct{}{}
			}
			s.stack = append(s.stack, l)
			if l.keys == nil && s.next() != ']' {
				if err := s.count(); err != nil {
					return err
				}
			}
		case '}', ']':
			s.stack = s.stack[:len(s.stack)-1]
		case ',':
			l := &s.stack[len(s.stack)-1]
			l.index++
			l.named = false
			if l.keys == nil {
				if err := s.count(); err != nil {
					return err
				}
			}
		case '"':
			if err := s.text(); err != nil {
				return err
			}
		}
	}
	return nil
}

// next is what stands behind the bracket that is being read.
func (s *screen) next() byte {
	rest := bytes.TrimLeft(s.data[s.at+1:min(s.at+1+smallBody, len(s.data))], " \t\r\n")
	if len(rest) == 0 {
		return 0 // nobody writes so: it counts
	}
	return rest[0]
}

// count takes an element of a list into account.
func (s *screen) count() error {
	if s.stack[0].key != "values" {
		return s.countPart()
	}
	if s.values++; s.values > service.MaxValues {
		return fmt.Errorf("these are more than %d values, which is the most in one query", service.MaxValues)
	}
	return nil
}

func (s *screen) countPart() error {
	if s.parts++; s.parts > maxJSONParts {
		return fmt.Errorf("the body has more than %d keys and elements of lists beside its values", maxJSONParts)
	}
	return nil
}

// text reads a string, which may be a key.
func (s *screen) text() error {
	start, plain := s.at, true
	for s.at++; s.data[s.at] != '"'; s.at++ {
		if s.data[s.at] != '\\' {
			continue
		}
		plain = false
		s.at++
		if s.data[s.at] == 'u' {
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
	if len(s.stack) == 0 {
		return nil
	}
	if l := &s.stack[len(s.stack)-1]; l.keys != nil && !l.named {
		return s.name(l, s.data[start:s.at+1], plain)
	}
	return nil
}

// escape checks a code unit that is written as \uXXXX; with the first half of a character it reads the second.
func (s *screen) escape() error {
	unit := s.unit(s.at + 1)
	s.at += 4
	switch {
	case unit == 0:
		return errors.New("a text has the character NUL")
	case unit >= 0xD800 && unit < 0xDC00 && bytes.HasPrefix(s.data[s.at+1:], []byte(`\u`)):
		if second := s.unit(s.at + 3); second >= 0xDC00 && second < 0xE000 {
			s.at += 6
			return nil
		}
	case unit < 0xD800 || unit > 0xDFFF:
		return nil
	}
	return fmt.Errorf(`a text has half a character, \u%04x`, unit)
}

func (s *screen) unit(at int) uint64 {
	unit, err := strconv.ParseUint(string(s.data[at:min(at+4, len(s.data))]), 16, 32)
	if err != nil {
		return 0 // it is valid JSON
	}
	return unit
}

// name takes in a key of the object that is being read.
func (s *screen) name(l *level, quoted []byte, plain bool) error {
	l.named = true
	l.key = string(quoted[1 : len(quoted)-1])
	if !plain {
		if err := json.Unmarshal(quoted, &l.key); err != nil {
			return errors.New("a key cannot be read")
		}
	}
	same := l.key
	if len(s.stack) < 2 || s.stack[0].key != "values" { // where keys are no fields, case counts
		same = strings.ToLower(same)
	}
	if _, twice := l.keys[same]; twice {
		return errors.New("the key stands there twice")
	}
	l.keys[same] = struct{}{}
	if len(l.keys) > maxJSONKeys {
		return fmt.Errorf("an object has more than %d keys", maxJSONKeys)
	}
	if err := s.countPart(); err != nil {
		return err
	}
	if len(s.stack) == 1 {
		s.top = append(s.top, l.key)
	}
	return nil
}

// path says where the reading stands, such as values.site[3].
func (s *screen) path() string {
	var path strings.Builder
	for _, l := range s.stack[:min(len(s.stack), 8)] {
		switch {
		case l.keys == nil:
			fmt.Fprintf(&path, "[%d]", l.index)
		case l.key != "":
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			fmt.Fprintf(&path, "%.*s", shownKey, strings.ToValidUTF8(l.key, ""))
		}
	}
	return path.String()
}
