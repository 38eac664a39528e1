package service

import (
	"regexp"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

type parameterRule struct {
	Type            ParameterType                `yaml:"type,required"`    // of its values
	Aliases         strictyaml.OneOrMany[string] `yaml:"aliases"`          // other names under which a query may give it
	Of              strictyaml.OneOrMany[Unit]   `yaml:"of"`               // of an interval: the forms of its ends
	Many            ManyStyle                    `yaml:"many"`             // how several values travel in one request; default: one value a request
	Send            strictyaml.Map[Template]     `yaml:"send"`             // name on the wire → text with {} for the value, {len} for its length, {from} and {to} of an interval; default: the parameter's name → {}
	Pattern         *regexp.Regexp               `yaml:"pattern"`          // that values match
	Values          allowedValues                `yaml:"values"`           // the allowed ones; or value → other spellings of it
	Omit            strictyaml.OneOrMany[string] `yaml:"omit"`             // of columns: names that are never sent
	Language        string                       `yaml:"language"`         // of cql2_text: the parameter that tells the filter's language
	TextLanguages   strictyaml.OneOrMany[string] `yaml:"text_languages"`   // the values of language that mean CQL2 text
	UnquotedNumbers unquotedNumbers              `yaml:"unquoted_numbers"` // of cql2_text: a comparison with a number that has no quotes
	Required        bool                         `yaml:"required"`         // a query must give it
	Default         strictyaml.OneOrMany[string] `yaml:"default"`          // sent when a query gives none
	Hint            string                       `yaml:"hint"`             // what is expected, in words
}

// unquotedNumbers says what becomes of a filter that compares a field with a number without quotes.
type unquotedNumbers string

// Choices lists what may be said.
func (unquotedNumbers) Choices() []string { return []string{"allow", "refuse"} }

func (r parameterRule) parameter(name string) Parameter {
	return Parameter{
		Name: name, Aliases: r.Aliases, Type: r.Type, Of: r.Of, Many: r.Many, Send: r.Send, Pattern: r.Pattern,
		Values: r.Values.values, Omit: r.Omit, Required: r.Required, Default: r.Default, Hint: r.Hint,
		Language: r.Language, TextLanguages: r.TextLanguages, QuotedNumbers: r.UnquotedNumbers == "refuse",
		spellings: r.Values.spellings,
	}
}

// setParams reads the parameters. What concerns several of them is checked when all are known.
func (c *Collection) setParams(params strictyaml.Map[parameterRule], n strictyaml.Node) {
	c.names = make(map[string]int, len(params))
	for name, rule := range params.All() {
		at := n.At(name)
		checkName(at, name)
		param := rule.parameter(name)
		param.check(at)
		for i, other := range append([]string{name}, param.Aliases...) {
			if _, taken := c.names[other]; taken {
				at.Fail("the name %q is taken by another parameter", other)
			}
			if i > 0 {
				checkName(at.At("aliases", i-1), other)
			}
			c.names[other] = len(c.params)
		}
		c.params = append(c.params, param)
	}
	for i := range c.params {
		c.checkLanguage(&c.params[i], n.At(c.params[i].Name))
	}
}

func (p *Parameter) check(n strictyaml.Node) {
	for _, rule := range p.misplaced() {
		if rule.given && n.Has(rule.key) {
			n.At(rule.key).Fail("%s", rule.problem)
		}
	}
	units := slices.DeleteFunc(slices.Clone(p.Of), func(u Unit) bool { return u == UnitDuration })
	switch {
	case p.Type == TypeInterval && len(units) == 0:
		n.Fail("an interval needs `of`: date, month, year or timestamp")
	case p.Type == TypeColumns && p.Many == "":
		n.Fail("columns need `many`: how several of them travel in one request")
	case len(p.Default) > 1 && p.Many == "":
		n.At("default").Fail("has %d values and the parameter takes one", len(p.Default))
	}
	for i, value := range p.Values {
		if p.canonical(value) != value {
			n.At("values", i).Fail("is sent as %q; write that", p.canonical(value))
		}
	}
	for i, value := range p.Default {
		if err := p.checkValue(value); err != nil {
			n.At("default", i).Fail("%s", err)
		}
	}
	if len(p.Send) == 0 && p.Type != TypeCQL2JSON {
		p.Send = p.defaultSend()
	}
	p.checkSend(n.At("send"))
	for name, template := range p.Send.All() {
		p.wires = append(p.wires, wire{name: name, key: escape(name) + "=", template: template})
	}
}

type misplacedKey struct {
	key     string
	given   bool // where it does not belong
	problem string
}

// misplaced lists the keys that do not belong to a parameter of this type.
func (p *Parameter) misplaced() []misplacedKey {
	interval, text, document := p.Type == TypeInterval, p.Type == TypeCQL2Text, p.Type == TypeCQL2JSON
	single := interval || text || document
	return []misplacedKey{
		{"of", !interval, "belongs to intervals only"},
		{"many", single, "an interval and a filter are one value"},
		{"pattern", single, "an interval and a filter have no pattern"},
		{"values", single || p.Type == TypeColumns, "an interval, a filter and columns have no list of values"},
		{"default", single, "an interval and a filter have no default"},
		{"send", document, "a filter in CQL2-JSON is the request's body, and is sent under no name"},
		{"omit", p.Type != TypeColumns, "belongs to columns only"},
		{"language", !text, "belongs to filters of the type cql2_text only"},
		{"text_languages", p.Language == "", "needs `language`: the parameter that tells the filter's language"},
		{"unquoted_numbers", !text, "belongs to filters of the type cql2_text only"},
		{"hint", p.Pattern == nil, "is shown when a value does not match the pattern, and there is no pattern"},
	}
}

// checkLanguage sees to the parameter that tells a filter's language.
func (c *Collection) checkLanguage(p *Parameter, n strictyaml.Node) {
	if p.Type != TypeCQL2Text || p.Language == "" {
		return
	}
	language, ok := c.parameter(p.Language)
	switch {
	case !ok:
		n.At("language").Fail("the parameter %q is not declared%s", p.Language, strictyaml.DidYouMean(p.Language, c.parameterNames()))
	case language.Type != TypeText || language.Many != "":
		n.At("language").Fail("the parameter %q is not one text", p.Language)
	case len(p.TextLanguages) == 0:
		n.Fail("`language` needs `text_languages`: which languages mean CQL2 text, such as [cql-text]")
	}
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
	case p.Type == TypeCQL2JSON:
		return
	case p.Type == TypeInterval:
		allowed = []string{"{from}", "{to}"}
	case p.Many != "" || p.Type == TypeCQL2Text:
		allowed = allowed[:1]
	}
	sent := false
	for name, template := range p.Send.All() {
		if placeholder, found := template.unknown(allowed...); found {
			n.At(name).Fail("%s has no meaning here; allowed are %s", placeholder, strings.Join(allowed, " "))
		}
		if name == "" || len(name) > maxWireName {
			n.At(name).Fail("a name on the wire has 1 to %d bytes", maxWireName)
		}
		if slices.Contains(p.Of, UnitDuration) && !template.whole() {
			n.At(name).Fail("a duration is sent in place of {from}/{to}, which must stand together here")
		}
		sent = sent || template.has(allowed[0]) || p.Type == TypeInterval && template.has(allowed[1])
	}
	if !sent {
		n.Fail("sends no value; write %s", allowed[0])
	}
	if p.Many == ManyCQL2In && (len(p.Send) != 1 || !p.Send[0].Value.bare()) {
		n.Fail("a parameter with many: cql2_in is sent under one name, as {}: the name is the property of the filter")
	}
}

const maxWireName = 200
