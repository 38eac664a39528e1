package service

import (
	"regexp"
	"slices"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Parameter is what a query may ask of a collection.
type Parameter struct {
	Name     string
	Aliases  []string // other names under which a query may give it
	Type     ParameterType
	Of       []Unit                   // forms of an interval's ends
	Many     ManyStyle                // how several values travel in one request; empty: one only
	Send     strictyaml.Map[Template] // name on the wire → text; default: the parameter's name → {}
	Pattern  *regexp.Regexp
	Values   []string // the allowed ones, as they are sent; empty: any
	Omit     []string // columns that are never sent
	Required bool
	Default  []string // sent when the query gives none
	Hint     string   // what to do when a value does not match the pattern

	// Of a filter in CQL2 text.

	Language      string   // the parameter that tells the filter's language; empty: it is text
	TextLanguages []string // the values of Language that mean text; so does none
	QuotedNumbers bool     // a comparison with a number without quotes is refused

	spellings map[string]string // other spellings of Values, in lower case
	wires     []wire
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
	TypeTimestamp ParameterType = "timestamp" // RFC 3339 with an offset; sent in UTC to the second
	TypeInterval  ParameterType = "interval"  // one value or two, see ParseInterval
	TypeColumns   ParameterType = "columns"   // names of columns that the answer has; a - in a name is sent as _
	TypeCQL2Text  ParameterType = "cql2_text" // one filter; in a chunk its alternatives, which are joined by OR
	TypeCQL2JSON  ParameterType = "cql2_json" // one filter, sent as the body of a POST as it stands
)

// Choices lists the types.
func (ParameterType) Choices() []string {
	return []string{"text", "int64", "float64", "bool", "date", "timestamp", "interval", "columns", "cql2_text", "cql2_json"}
}

// ManyStyle is how several values travel in one request.
type ManyStyle string

// The styles.
const (
	ManyComma  ManyStyle = "comma"   // a=1,2
	ManyRepeat ManyStyle = "repeat"  // a=1&a=2
	ManyCQL2In ManyStyle = "cql2_in" // a POST whose body is a filter in CQL2-JSON; one value is a=1
)

// Choices lists the styles.
func (ManyStyle) Choices() []string { return []string{"comma", "repeat", "cql2_in"} }

// Parameters gives the declared parameters in the order of the file.
func (c *Collection) Parameters() []Parameter { return slices.Clone(c.params) }

// parameter finds a parameter by the name under which it is declared.
func (c *Collection) parameter(name string) (Parameter, bool) {
	i := slices.IndexFunc(c.params, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return c.params[i], true
}

// parameterNames lists the names that a query may use.
func (c *Collection) parameterNames() []string {
	names := make([]string, 0, len(c.params))
	for _, param := range c.params {
		names = append(append(names, param.Name), param.Aliases...)
	}
	return names
}

// given finds the values of a parameter under any of its names, the first of which outranks the others.
func (p *Parameter) given(v Values) (values []string, ok bool) {
	if values, ok = v[p.Name]; ok || len(p.Aliases) == 0 {
		return values, ok
	}
	for _, name := range p.Aliases {
		if values, ok = v[name]; ok {
			return values, true
		}
	}
	return nil, false
}

// sent gives the values of a parameter, or its default.
func (p *Parameter) sent(v Values) (values []string, given bool) {
	if values, given = p.given(v); given {
		return values, true
	}
	return p.Default, false
}
