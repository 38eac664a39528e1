package service

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// Source names where a response says something: a path in its body, or a header. A relation is compared
// as it is written.
type Source struct {
	Path   Path
	Header string // name of a header
	Rel    string // of the Link header: the relation wanted
}

var headerSource = regexp.MustCompile(`^header:([A-Za-z0-9-]+)(?:\[rel=([A-Za-z0-9._-]+)\])?$`)

// UnmarshalText reads '$.meta.next', 'header:NAME' or 'header:Link[rel=next]'.
func (s *Source) UnmarshalText(text []byte) error {
	if !strings.HasPrefix(string(text), "header:") {
		return s.Path.UnmarshalText(text)
	}
	match := headerSource.FindStringSubmatch(string(text))
	if match == nil {
		return fmt.Errorf("%.80q names no header; write header:NAME or header:Link[rel=next]", text)
	}
	s.Header, s.Rel = match[1], match[2]
	if isLink := strings.EqualFold(s.Header, "Link"); isLink != (s.Rel != "") {
		return fmt.Errorf("%.80q: a relation belongs to the header Link and to no other; write header:Link[rel=next]", text)
	}
	return nil
}

// String is the source as it is written in a definition.
func (s Source) String() string {
	switch {
	case s.Rel != "":
		return "header:" + s.Header + "[rel=" + s.Rel + "]"
	case s.Header != "":
		return "header:" + s.Header
	}
	return s.Path.String()
}

// IsZero tells whether no source is named.
func (s Source) IsZero() bool { return s.Header == "" && s.Path.IsZero() }

// read gives what the response says there; a JSON null says nothing. A value that is neither text, number nor truth
// value is an error.
func (s Source) read(header map[string][]string, doc gjson.Result) (text string, ok bool, err error) {
	switch {
	case s.Rel != "":
		return findLink(headerValues(header, s.Header), s.Rel)
	case s.Header != "":
		values := headerValues(header, s.Header)
		if len(values) == 0 {
			return "", false, nil
		}
		return values[0], true, nil
	}
	value, ok := s.Path.first(doc)
	if !ok || value.Type == gjson.Null {
		return "", false, nil
	}
	if value.Type == gjson.JSON {
		return "", false, fmt.Errorf("%s is %s", s, kindOf(value))
	}
	return textOf(value), true, nil
}

// headerValues finds a header whatever the case of its name.
func headerValues(header map[string][]string, name string) []string {
	if values, ok := header[name]; ok {
		return values
	}
	for key, values := range header {
		if strings.EqualFold(key, name) {
			return values
		}
	}
	return nil
}

func kindOf(value gjson.Result) string {
	switch {
	case value.IsObject():
		return "an object"
	case value.IsArray():
		return "a list"
	case value.Type == gjson.String:
		return "a text"
	case value.Type == gjson.Number:
		return "a number"
	case value.Type == gjson.Null:
		return "null"
	}
	return "a truth value"
}
