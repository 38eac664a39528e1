package service

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Parameter is what a query may ask of a collection.
type Parameter struct {
	Name     string                       `yaml:"-"`
	Type     ParameterType                `yaml:"type,required"`
	Of       strictyaml.OneOrMany[Unit]   `yaml:"of"`   // forms of an interval's ends
	Many     ManyStyle                    `yaml:"many"` // how several values travel in one request; empty: one only
	Send     strictyaml.Map[Template]     `yaml:"send"` // name on the wire → text; default: the parameter's name → {}
	Pattern  *regexp.Regexp               `yaml:"pattern"`
	Values   []string                     `yaml:"values"` // the allowed ones; empty: any
	Required bool                         `yaml:"required"`
	Default  strictyaml.OneOrMany[string] `yaml:"default"` // sent when the query gives none
	Hint     string                       `yaml:"hint"`    // what to do when a value does not match the pattern
}

// ParameterType is the type of a parameter's values.
type ParameterType string

// The types of parameters.
const (
	TypeText      ParameterType = "text"
	TypeInt64     ParameterType = "int64"
	TypeFloat64   ParameterType = "float64"
	TypeBool      ParameterType = "bool"
	TypeDate      ParameterType = "date"      // YYYY-MM-DD
	TypeTimestamp ParameterType = "timestamp" // RFC 3339 with an offset
	TypeInterval  ParameterType = "interval"  // two values, from and to; .. is an open end
)

// Choices lists the types.
func (ParameterType) Choices() []string {
	return []string{"text", "int64", "float64", "bool", "date", "timestamp", "interval"}
}

// ManyStyle is how several values travel in one request.
type ManyStyle string

// The styles.
const (
	ManyComma  ManyStyle = "comma"  // a=1,2
	ManyRepeat ManyStyle = "repeat" // a=1&a=2
)

// UnmarshalStrict reads a style.
func (s *ManyStyle) UnmarshalStrict(n strictyaml.Node) {
	*s = decodeChoice[ManyStyle](n, []string{"comma", "repeat"}, []string{"cql2_in"})
}

// Parameters gives the declared parameters in the order of the file.
func (c *Collection) Parameters() []Parameter { return slices.Clone(c.params) }

func (c *Collection) parameter(name string) (Parameter, bool) {
	i := slices.IndexFunc(c.params, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return c.params[i], true
}

func (c *Collection) parameterNames() []string {
	names := make([]string, len(c.params))
	for i, param := range c.params {
		names[i] = param.Name
	}
	return names
}

func (p *Parameter) check(n strictyaml.Node) {
	interval := p.Type == TypeInterval
	switch {
	case interval && len(p.Of) == 0:
		n.Fail("an interval needs `of`: date, month, year or timestamp")
	case interval && (p.Many != "" || p.Pattern != nil || len(p.Values) > 0 || len(p.Default) > 0):
		n.Fail("an interval has no many, pattern, values or default")
	case !interval && len(p.Of) > 0:
		n.At("of").Fail("belongs to intervals only")
	case p.Hint != "" && p.Pattern == nil:
		n.At("hint").Fail("is shown when a value does not match the pattern, and there is no pattern")
	case len(p.Default) > 1 && p.Many == "":
		n.At("default").Fail("has %d values and the parameter takes one", len(p.Default))
	}
	for i, value := range p.Default {
		if err := p.checkValue(value); err != nil {
			n.At("default", i).Fail("%s", err)
		}
	}
	if len(p.Send) == 0 {
		p.Send = p.defaultSend()
	}
	p.checkSend(n.At("send"))
}

func (p *Parameter) defaultSend() strictyaml.Map[Template] {
	text := "{}"
	if p.Type == TypeInterval {
		text = "{from}/{to}"
	}
	var template Template
	if template.UnmarshalText([]byte(text)) != nil {
		return nil
	}
	return strictyaml.Map[Template]{{Key: p.Name, Value: template}}
}

func (p *Parameter) checkSend(n strictyaml.Node) {
	allowed := []string{"{}", "{len}"}
	switch {
	case p.Type == TypeInterval:
		allowed = []string{"{from}", "{to}"}
	case p.Many != "":
		allowed = allowed[:1]
	}
	sent := false
	for name, template := range p.Send.All() {
		if placeholder, found := template.unknown(allowed...); found {
			n.At(name).Fail("%s has no meaning here; allowed are %s", placeholder, strings.Join(allowed, " "))
		}
		sent = sent || template.has(allowed[0])
	}
	if !sent {
		n.Fail("sends no value; write %s", allowed[0])
	}
}

const (
	maxValueBytes = 1000
	floatBits     = 64
)

// wrongValue is what is wrong with one value.
type wrongValue struct {
	value   string // as a message shows it
	problem string // what is wrong and what to do; values with one problem are reported together
}

// Error shows the value and what is wrong with it.
func (w *wrongValue) Error() string { return w.report(1) }

// report tells of n values with one problem.
func (w *wrongValue) report(n int) string {
	if n == 1 {
		return w.value + " " + w.problem
	}
	return fmt.Sprintf("%s (and %d more like it) %s", w.value, n-1, w.problem)
}

// checkValue tells what is wrong with one value; nil when nothing is.
func (p *Parameter) checkValue(value string) *wrongValue {
	wrong := func(format string, args ...any) *wrongValue {
		return &wrongValue{value: fmt.Sprintf("the value %.80q", value), problem: fmt.Sprintf(format, args...)}
	}
	switch {
	case value == "":
		return &wrongValue{value: "a value", problem: "is empty"}
	case len(value) > maxValueBytes:
		return &wrongValue{value: fmt.Sprintf("the value %.40q…", value), problem: fmt.Sprintf("has %d bytes, at most %d", len(value), maxValueBytes)}
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return wrong("has characters that are not printable")
	case strings.TrimSpace(value) != value:
		return wrong("has white space around it; remove it")
	case p.Many == ManyComma && strings.Contains(value, ","):
		return wrong("has a comma, which the service reads as two values; give them as a list")
	case len(p.Values) > 0 && !slices.Contains(p.Values, value):
		return wrong("is not allowed%s", strictyaml.DidYouMean(value, p.Values))
	case p.Pattern != nil && !p.Pattern.MatchString(value) && p.Hint != "":
		return wrong("does not have the form that the service takes: %s", p.Hint)
	case p.Pattern != nil && !p.Pattern.MatchString(value):
		return wrong("does not match %s", p.Pattern)
	}
	if form, ok := p.checkType(value); !ok {
		return wrong("is no %s", form)
	}
	return nil
}

// checkType tells whether a value is of the parameter's type, and of which form such a value is.
func (p *Parameter) checkType(value string) (form string, ok bool) {
	var err error
	switch p.Type {
	case TypeInt64:
		form = "whole number"
		_, err = strconv.ParseInt(value, 10, 64)
	case TypeFloat64:
		form = "number"
		var f float64
		if f, err = strconv.ParseFloat(value, floatBits); err == nil && (math.IsInf(f, 0) || math.IsNaN(f)) {
			err = strconv.ErrRange
		}
	case TypeBool:
		return "truth value; write true or false", value == "true" || value == "false"
	case TypeDate:
		form = "day of the calendar; write YYYY-MM-DD"
		_, err = UnitDate.parse(value)
	case TypeTimestamp:
		form = "time; write YYYY-MM-DDThh:mm:ssZ or with an offset such as -06:00"
		_, err = UnitTimestamp.parse(value)
	case TypeText, TypeInterval:
	}
	return form, err == nil
}
