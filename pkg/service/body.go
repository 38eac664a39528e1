package service

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/cql2"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// cql2Filter collects what goes into the body as a filter in CQL2-JSON.
type cql2Filter struct {
	many       bool // several values of a parameter make a predicate
	predicates []cql2.In
	document   string
}

// body is the filter, nil when there is none. A document alone is sent as it stands.
func (f *cql2Filter) body() []byte {
	switch {
	case len(f.predicates) > 0:
		room := len(f.document) + 64
		for _, in := range f.predicates {
			room += len(in.Property) + 64
			for _, value := range in.Values {
				room += len(value) + 3
			}
		}
		return cql2.AppendAnd(make([]byte, 0, room), f.predicates, f.document)
	case f.document != "":
		return []byte(f.document)
	}
	return nil
}

// splitter leaves to the query what is no part of the filter: of the parameters that make predicates those with one value.
type splitter struct {
	*pairs
	filter *cql2Filter
}

func (s *splitter) list(p *Parameter, values []string) {
	switch {
	case p.Type == TypeCQL2JSON:
		s.filter.document = values[0]
	case p.Many == ManyCQL2In && s.filter.many && len(values) > 1:
		s.filter.predicates = append(s.filter.predicates, p.predicate(values))
	default:
		s.pairs.list(p, values)
	}
}

func (p *Parameter) predicate(values []string) cql2.In {
	in := cql2.In{Property: p.wires[0].name, Values: values}
	literals := make([]string, 0, len(values))
	for _, value := range values {
		text, ok := p.literal(value)
		if !ok {
			return in
		}
		literals = append(literals, text)
	}
	in.Values, in.Literal = literals, true
	return in
}

// members writes names and values as the members of one JSON object.
type members struct{ out []byte }

func (m *members) name(name string) {
	if len(m.out) == 0 {
		m.out = append(m.out, '{')
	} else {
		m.out = append(m.out, ',')
	}
	m.out = append(cql2.AppendText(m.out, name), ':')
}

func (m *members) close() []byte {
	if len(m.out) == 0 {
		return []byte("{}")
	}
	return append(m.out, '}')
}

// list writes a list for a parameter of which each value is sent by itself, however many there are, and else one value.
func (m *members) list(p *Parameter, values []string) {
	for _, wire := range p.wires {
		m.name(wire.name)
		switch {
		case p.Many == ManyRepeat:
			m.out = append(m.out, '[')
			for i, value := range values {
				if i > 0 {
					m.out = append(m.out, ',')
				}
				m.value(p, wire.template, value)
			}
			m.out = append(m.out, ']')
		case p.Type == TypeCQL2Text:
			m.value(p, wire.template, strings.Join(values, cql2.Or))
		default:
			m.value(p, wire.template, strings.Join(values, ","))
		}
	}
}

// value writes a number or truth value as such, if it stands alone, and all else as a text.
func (m *members) value(p *Parameter, template Template, value string) {
	if template.bare() {
		if text, ok := p.literal(value); ok {
			m.out = append(m.out, text...)
			return
		}
	}
	var text strings.Builder
	for _, part := range template.parts {
		switch {
		case !part.placeholder:
			text.WriteString(part.text)
		case part.text == "{len}":
			text.WriteString(strconv.Itoa(utf8.RuneCountInString(value)))
		default:
			text.WriteString(value)
		}
	}
	m.out = cql2.AppendText(m.out, text.String())
}

func (m *members) interval(p *Parameter, from, to, single string) {
	for _, wire := range p.wires {
		if wire.open(from, to) {
			continue
		}
		var text strings.Builder
		for _, part := range wire.template.intervalParts(from, to, single) {
			text.WriteString(part.text)
		}
		m.name(wire.name)
		m.out = cql2.AppendText(m.out, text.String())
	}
}

// append writes what the definition fixes: texts, and the rows of a page as a number.
func (m *members) append(fixed strictyaml.Map[Template], limits Limits) {
	for name, template := range fixed.All() {
		m.name(name)
		rows := strconv.Itoa(limits.PageRows)
		if template.text == "{page_rows}" {
			m.out = append(m.out, rows...)
			continue
		}
		m.out = cql2.AppendText(m.out, strings.ReplaceAll(template.text, "{page_rows}", rows))
	}
}
