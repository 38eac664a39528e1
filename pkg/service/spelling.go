package service

import (
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// allowedValues is the closed set of a parameter's values: a list, or a mapping of each value to other spellings of it.
type allowedValues struct {
	values    []string
	spellings map[string]string // in lower case → the value; nil for a list
}

// UnmarshalStrict reads a list or a mapping.
func (a *allowedValues) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() != strictyaml.Mapping {
		n.Decode(&a.values)
		return
	}
	var spellings strictyaml.Map[strictyaml.OneOrMany[string]]
	n.Decode(&spellings)
	a.spellings = make(map[string]string, 2*len(spellings))
	add := func(n strictyaml.Node, spelling, value string) {
		key := strings.ToLower(spelling)
		if other, taken := a.spellings[key]; taken {
			n.Fail("%.80q stands for %s already; case does not count", spelling, other)
			return
		}
		a.spellings[key] = value
	}
	for value := range spellings.All() {
		a.values = append(a.values, value)
		add(n.At(value), value, value)
	}
	for value, others := range spellings.All() {
		for i, spelling := range others {
			add(n.At(value, i), spelling, value)
		}
	}
}

// canonical gives the text that is sent for a value. A value that is wrong stays as it is: checkValue says so.
func (p *Parameter) canonical(value string) string {
	switch {
	case p.spellings != nil:
		if known, ok := p.spellings[strings.ToLower(value)]; ok {
			return known
		}
	case p.Type == TypeDate:
		if t, err := UnitDate.parse(value); err == nil {
			return UnitDate.Write(t)
		}
	case p.Type == TypeTimestamp:
		if t, err := UnitTimestamp.parse(value); err == nil {
			return UnitTimestamp.Write(t)
		}
	case p.Type == TypeColumns:
		return strings.ReplaceAll(value, "-", "_")
	}
	return value
}

// spelled tells whether values may be written in several ways.
func (p *Parameter) spelled() bool {
	return p.spellings != nil || p.Type == TypeDate || p.Type == TypeTimestamp || p.Type == TypeColumns
}
