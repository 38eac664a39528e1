package service

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Path selects values of a JSON document: $.a.b for members, $['a.b'] for names with dots, [n] and [*] for members of
// a list, [?k=v] for the objects of a list whose member k is the text v. The zero Path selects nothing.
type Path struct {
	text  string
	steps []step
}

type step struct {
	kind  stepKind
	name  string // member, or the filter's member
	value string // the filter's text
	index int
}

type stepKind int

const (
	stepMember stepKind = iota
	stepIndex
	stepAll
	stepFilter
)

const (
	maxPathBytes = 512
	maxPathSteps = 16
)

var errPath = errors.New(`not a path; write $.name, $['a.b'], [*], [n] or [?key=value]`)

// ParsePath reads a path.
func ParsePath(text string) (Path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok || len(text) > maxPathBytes {
		return Path{}, fmt.Errorf("%.80q is %w", text, errPath)
	}
	path := Path{text: text}
	for rest != "" {
		var next step
		if next, rest, ok = cutStep(rest); !ok || len(path.steps) == maxPathSteps {
			return Path{}, fmt.Errorf("%.80q is %w", text, errPath)
		}
		path.steps = append(path.steps, next)
	}
	return path, nil
}

// UnmarshalText reads a path.
func (p *Path) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePath(string(text))
	return err
}

// String is the path as it was written.
func (p Path) String() string { return p.text }

// IsZero tells whether there is no path.
func (p Path) IsZero() bool { return p.text == "" }

func cutStep(text string) (next step, rest string, ok bool) {
	if name, isMember := strings.CutPrefix(text, "."); isMember {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return step{kind: stepMember, name: name[:end]}, name[end:], end > 0 && !strings.ContainsAny(name[:end], "]'\"*? ")
	}
	if quoted, isQuoted := strings.CutPrefix(text, "['"); isQuoted {
		name, rest, closed := strings.Cut(quoted, "']")
		return step{kind: stepMember, name: name}, rest, closed && name != "" && !strings.Contains(name, "'")
	}
	inside, isBracket := strings.CutPrefix(text, "[")
	inside, rest, closed := strings.Cut(inside, "]")
	if !isBracket || !closed {
		return step{}, "", false
	}
	if inside == "*" {
		return step{kind: stepAll}, rest, true
	}
	if condition, isFilter := strings.CutPrefix(inside, "?"); isFilter {
		name, value, hasValue := strings.Cut(condition, "=")
		return step{kind: stepFilter, name: name, value: value}, rest, hasValue && name != "" && !strings.ContainsAny(name, "[.' ")
	}
	index, err := strconv.ParseUint(inside, 10, 31)
	return step{kind: stepIndex, index: int(index)}, rest, err == nil && strconv.FormatUint(index, 10) == inside
}

// each calls yield with every value the path selects, in document order, until it returns false.
func (p Path) each(doc gjson.Result, yield func(gjson.Result) bool) {
	if !p.IsZero() {
		eachStep(p.steps, doc, yield)
	}
}

func eachStep(steps []step, value gjson.Result, yield func(gjson.Result) bool) bool {
	if len(steps) == 0 {
		return yield(value)
	}
	first, rest := steps[0], steps[1:]
	if first.kind == stepMember {
		member, ok := memberOf(value, first.name)
		return !ok || eachStep(rest, member, yield)
	}
	if !value.IsArray() {
		return true
	}
	position, more := -1, true
	value.ForEach(func(_, element gjson.Result) bool {
		position++
		if first.accepts(position, element) {
			more = eachStep(rest, element, yield)
		}
		return more && (first.kind != stepIndex || position < first.index)
	})
	return more
}

func (s step) accepts(position int, element gjson.Result) bool {
	switch s.kind {
	case stepIndex:
		return position == s.index
	case stepFilter:
		member, ok := memberOf(element, s.name)
		return ok && textOf(member) == s.value
	default:
		return true
	}
}

// first gives the first value that the path selects.
func (p Path) first(doc gjson.Result) (found gjson.Result, ok bool) {
	p.each(doc, func(value gjson.Result) bool {
		found, ok = value, true
		return false
	})
	return found, ok
}

// says tells whether one of the values that the path selects has the text.
func (p Path) says(doc gjson.Result, text string) (said bool) {
	p.each(doc, func(value gjson.Result) bool {
		said = textOf(value) == text
		return !said
	})
	return said
}

// memberOf gives a member of an object; of members with one name the last counts, as in every JSON library.
func memberOf(object gjson.Result, name string) (found gjson.Result, ok bool) {
	if !object.IsObject() {
		return found, false
	}
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found, ok = value, true
		}
		return true
	})
	return found, ok
}

// textOf is a text without its quotes, and the server's exact bytes of everything else.
func textOf(value gjson.Result) string {
	if value.Type == gjson.String {
		return value.Str
	}
	return value.Raw
}
