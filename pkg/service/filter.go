package service

import (
	"slices"

	"github.com/braidhq/braid/pkg/cql2"
)

// Clauses gives the alternatives that a filter of the type cql2_text is divided into: those of a query's one expression, or
// those that a chunk has already. Each asks for a part of what the filter asks for, all together for the whole, in order. It
// is nil where the filter is not given, or is in a language that is passed through. A filter that may have a comment is one
// alternative: an OR may be part of it.
func (c *Collection) Clauses(name string, v Values) []string {
	param, ok := c.parameter(name)
	if !ok || param.Type != TypeCQL2Text || !param.isText(c, v) {
		return nil
	}
	filters, _ := param.given(v)
	if len(filters) == 1 && cql2.MayHaveComment(filters[0]) {
		return slices.Clone(filters)
	}
	if len(filters) == 1 {
		return cql2.Split(filters[0])
	}
	return slices.Clone(filters)
}

// CommentKeepsWhole tells whether a filter has several alternatives, and is one only because it may have a comment.
func (c *Collection) CommentKeepsWhole(name string, v Values) bool {
	clauses := c.Clauses(name, v)
	return len(clauses) == 1 && cql2.MayHaveComment(clauses[0]) && len(cql2.Split(clauses[0])) > 1
}

// PassesThrough tells whether the values have a filter that is sent as it stands: in CQL2-JSON, or in a language that is not
// text. It is never divided, and a request that nothing else could make smaller is not measured: the service judges it.
func (c *Collection) PassesThrough(v Values) bool {
	for i := range c.params {
		p := &c.params[i]
		if !p.isFilter() {
			continue
		}
		if _, given := p.given(v); given && !p.isText(c, v) {
			return true
		}
	}
	return false
}

// isText tells whether a filter is in CQL2 text, as far as the query says.
func (p *Parameter) isText(c *Collection, v Values) bool {
	if p.Type != TypeCQL2Text || p.Language == "" {
		return p.Type == TypeCQL2Text
	}
	language, ok := c.parameter(p.Language)
	if !ok {
		return true
	}
	values, _ := language.sent(v)
	return len(values) == 0 || len(values) == 1 && slices.Contains(p.TextLanguages, language.canonical(values[0]))
}

// checkQuotes refuses a number without quotes where the service takes every field for text.
func (c *Collection) checkQuotes(p *Parameter, filters []string, v Values, errs *ValueErrors) {
	if !p.QuotedNumbers || !p.isText(c, v) {
		return
	}
	for _, filter := range filters {
		if len(filter) > maxFilterBytes {
			continue
		}
		if found, ok := cql2.FindUnquoted(filter); ok {
			errs.add(p.Name, ErrInvalidValue,
				"it compares %.80s with a number without quotes (%.120s); every field of this service is text, so write the number in single quotes, and know that text is compared by its characters: '9' is more than '10'",
				found.Field, found.Comparison)
		}
	}
}
