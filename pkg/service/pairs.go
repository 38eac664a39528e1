package service

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/cql2"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// wire is a name on the wire and what is sent under it.
type wire struct {
	name     string
	key      string // escaped, with its =
	template Template
}

// pairs writes names and values as a query or a form does.
type pairs struct {
	out   []byte
	start byte // in front of the first pair; 0: nothing
	some  bool
}

func (q *pairs) separate() {
	switch {
	case q.some:
		q.out = append(q.out, '&')
	case q.start != 0:
		q.out = append(q.out, q.start)
	}
	q.some = true
}

func (q *pairs) list(p *Parameter, values []string) {
	for _, wire := range p.wires {
		if p.Many == ManyComma || p.Type == TypeCQL2Text {
			q.separate()
			q.out = append(q.out, wire.key...)
			q.out = wire.template.appendList(q.out, values, p.separator())
			continue
		}
		for i := range values {
			q.separate()
			q.out = append(q.out, wire.key...)
			q.out = wire.template.appendList(q.out, values[i:i+1], "")
		}
	}
}

// separator stands, escaped, between values that travel as one text. The comma stays as it is: legal in a query, and a third of its
// escaped length.
func (p *Parameter) separator() string {
	if p.Type == TypeCQL2Text {
		return escape(cql2.Or)
	}
	return ","
}

// interval leaves out a name that would carry nothing but an open end.
func (q *pairs) interval(p *Parameter, from, to, single string) {
	for _, wire := range p.wires {
		if wire.open(from, to) {
			continue
		}
		q.separate()
		q.out = append(q.out, wire.key...)
		for _, part := range wire.template.intervalParts(from, to, single) {
			if part.placeholder {
				q.out = appendEscaped(q.out, part.text)
			} else {
				q.out = append(q.out, part.escaped...)
			}
		}
	}
}

func (w wire) open(from, to string) bool {
	return from == OpenEnd && !w.template.has("{to}") || to == OpenEnd && !w.template.has("{from}")
}

func (q *pairs) append(fixed strictyaml.Map[Template], limits Limits) {
	for name, template := range fixed.All() {
		q.separate()
		q.out = appendEscaped(q.out, name)
		q.out = append(q.out, '=')
		q.out = append(q.out, template.fill(pageRows(limits))...)
	}
}

// appendList writes the template for a query with values in place of {}.
func (t Template) appendList(out []byte, values []string, separator string) []byte {
	for _, part := range t.parts {
		switch {
		case !part.placeholder:
			out = append(out, part.escaped...)
		case part.text == "{len}":
			out = strconv.AppendInt(out, int64(utf8.RuneCountInString(values[0])), 10)
		default:
			for i, value := range values {
				if i > 0 {
					out = append(out, separator...)
				}
				out = appendEscaped(out, value)
			}
		}
	}
	return out
}

// intervalParts gives the template with its ends put in, as parts that are placeholders still: they are not escaped. Where both
// ends stand together, one text takes the place of a pair.
func (t Template) intervalParts(from, to, single string) []templatePart {
	if single != "" && t.text == wholeInterval {
		return []templatePart{{text: single, placeholder: true}}
	}
	parts := make([]templatePart, 0, len(t.parts))
	for i := 0; i < len(t.parts); i++ {
		part := t.parts[i]
		switch {
		case !part.placeholder:
		case single != "" && part.text == "{from}" && t.pairAt(i):
			part.text = single
			i += 2
		case part.text == "{from}":
			part.text = from
		default:
			part.text = to
		}
		parts = append(parts, part)
	}
	return parts
}

func (t Template) pairAt(i int) bool {
	return i+2 < len(t.parts) && t.parts[i+1].text == "/" && !t.parts[i+1].placeholder && t.parts[i+2].text == "{to}" && t.parts[i+2].placeholder
}

// writePair writes one name with a value that is escaped already.
func writePair(query *strings.Builder, name, escaped string) {
	if query.Len() > 0 {
		query.WriteByte('&')
	}
	query.WriteString(escape(name))
	query.WriteByte('=')
	query.WriteString(escaped)
}

// escape is HTML-form style: letters, digits and -._~ stay, a space is +, all else is percent-encoded.
func escape(text string) string { return string(appendEscaped(nil, text)) }

func appendEscaped(out []byte, text string) []byte {
	const hex = "0123456789ABCDEF"
	start := 0
	for i := range len(text) {
		c := text[i]
		if staysInQuery(c) {
			continue
		}
		out = append(out, text[start:i]...)
		start = i + 1
		if c == ' ' {
			out = append(out, '+')
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return append(out, text[start:]...)
}

// staysInQuery tells whether a byte is written as it is: one bit for each character of ASCII.
func staysInQuery(c byte) bool {
	const low, high = 0x03ff600000000000, 0x47fffffe87fffffe // -.0-9 and A-Z_a-z~
	return c < 64 && low>>c&1 == 1 || c >= 64 && c < 128 && uint64(high)>>(c-64)&1 == 1
}
