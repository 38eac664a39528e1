package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// errFilter is a filter that the service cannot read; it answers 500 to it.
var errFilter = errors.New("query error (check logs)")

// maxFilterDepth bounds the nesting of a filter.
const maxFilterDepth = 100

// cqlReader reads CQL text: comparisons with quoted values, IN, BETWEEN, LIKE, IS NULL, NOT, AND, OR and parentheses.
type cqlReader struct {
	tokens []token
	depth  int
}

type token struct {
	kind tokenKind
	text string
}

type tokenKind int

const (
	tokenEnd    tokenKind = iota
	tokenName             // a property
	tokenWord             // a keyword, in upper case
	tokenText             // 'quoted'
	tokenNumber           // unquoted: the service cannot compare it
	tokenSign
)

// parseCQLText reads a filter. Every error is errFilter, wrapped.
func parseCQLText(text string) (expression, error) {
	tokens, err := scanCQL(text)
	if err != nil {
		return expression{}, err
	}
	r := &cqlReader{tokens: tokens}
	e, err := r.disjunction()
	if err == nil && r.peek().kind != tokenEnd {
		err = r.unexpected()
	}
	return e, err
}

func scanCQL(text string) ([]token, error) {
	var tokens []token
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return append(tokens, token{}), nil
		}
		t, n := scanToken(text)
		if n == 0 {
			return nil, fmt.Errorf("%w: cannot read the filter at %q", errFilter, clip(text))
		}
		tokens, text = append(tokens, t), text[n:]
	}
}

// scanToken reads the first token of a text and tells its length, 0 for none.
func scanToken(text string) (token, int) {
	switch c := text[0]; {
	case c == '\'' || c == '"':
		value, n := scanQuoted(text)
		if c == '"' {
			return token{tokenName, value}, n
		}
		return token{tokenText, value}, n
	case c >= '0' && c <= '9' || c == '-' || c == '.':
		n := strings.IndexFunc(text[1:], func(r rune) bool { return !strings.ContainsRune("0123456789.eE+-", r) })
		if n < 0 {
			n = len(text) - 1
		}
		return token{tokenNumber, text[:n+1]}, n + 1
	case isNameByte(c):
		n := 1
		for n < len(text) && isNameByte(text[n]) {
			n++
		}
		if word := strings.ToUpper(text[:n]); slices.Contains([]string{"AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL"}, word) {
			return token{tokenWord, word}, n
		}
		return token{tokenName, text[:n]}, n
	}
	for _, sign := range []string{"<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ","} {
		if strings.HasPrefix(text, sign) {
			return token{tokenSign, sign}, len(sign)
		}
	}
	return token{}, 0
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// scanQuoted reads a quoted text in which the quote is doubled.
func scanQuoted(text string) (value string, n int) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != quote:
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			return b.String(), i + 1
		}
	}
	return "", 0
}

func (r *cqlReader) peek() token { return r.tokens[0] }

func (r *cqlReader) next() token {
	t := r.tokens[0]
	if t.kind != tokenEnd {
		r.tokens = r.tokens[1:]
	}
	return t
}

func (r *cqlReader) take(kind tokenKind, text string) bool {
	if t := r.peek(); t.kind != kind || t.text != text {
		return false
	}
	r.next()
	return true
}

func (r *cqlReader) unexpected() error {
	return fmt.Errorf("%w: unexpected %q in the filter", errFilter, clip(r.peek().text))
}

func (r *cqlReader) disjunction() (expression, error) {
	if r.depth++; r.depth > maxFilterDepth {
		return expression{}, fmt.Errorf("%w: the filter is nested too deep", errFilter)
	}
	defer func() { r.depth-- }()
	return r.chain("OR", opOr, r.conjunction)
}

func (r *cqlReader) conjunction() (expression, error) { return r.chain("AND", opAnd, r.negation) }

func (r *cqlReader) chain(word string, op operator, part func() (expression, error)) (expression, error) {
	first, err := part()
	if err != nil || r.peek() != (token{tokenWord, word}) {
		return first, err
	}
	e := expression{op: op, args: []expression{first}}
	for r.take(tokenWord, word) {
		next, err := part()
		if err != nil {
			return expression{}, err
		}
		e.args = append(e.args, next)
	}
	return e, nil
}

func (r *cqlReader) negation() (expression, error) {
	negated := false
	for r.take(tokenWord, "NOT") {
		negated = !negated
	}
	var e expression
	var err error
	if r.take(tokenSign, "(") {
		if e, err = r.disjunction(); err == nil && !r.take(tokenSign, ")") {
			err = r.unexpected()
		}
	} else {
		e, err = r.predicate()
	}
	if negated {
		e = expression{op: opNot, args: []expression{e}}
	}
	return e, err
}

func (r *cqlReader) predicate() (expression, error) {
	if r.peek().kind != tokenName {
		return expression{}, r.unexpected()
	}
	e := expression{property: r.next().text}
	var negated bool
	var err error
	switch {
	case r.take(tokenWord, "IS"):
		negated, e.op = r.take(tokenWord, "NOT"), opIsNull
		if !r.take(tokenWord, "NULL") {
			return expression{}, r.unexpected()
		}
	case r.peek().kind == tokenSign:
		e, negated, err = r.comparison(e)
	default:
		negated = r.take(tokenWord, "NOT")
		e, err = r.set(e)
	}
	if negated {
		e = expression{op: opNot, args: []expression{e}}
	}
	return e, err
}

func (r *cqlReader) comparison(e expression) (expression, bool, error) {
	sign := r.next().text
	value, err := r.value()
	e.values = []string{value}
	switch sign {
	case "=", "==":
		e.op = opIn
	case "<>", "!=":
		e.op = opIn
		return e, true, err
	case "<", "<=", ">", ">=":
		e.op = operator(sign)
	default:
		return expression{}, false, r.unexpected()
	}
	return e, false, err
}

// set reads IN, BETWEEN and LIKE.
func (r *cqlReader) set(e expression) (expression, error) {
	switch {
	case r.take(tokenWord, "LIKE"):
		pattern, err := r.value()
		e.op, e.values = opLike, []string{pattern}
		return e, err
	case r.take(tokenWord, "BETWEEN"):
		low, err := r.value()
		if err != nil {
			return e, err
		}
		if !r.take(tokenWord, "AND") {
			return e, r.unexpected()
		}
		high, err := r.value()
		return and(
			expression{op: opAtLeast, property: e.property, values: []string{low}},
			expression{op: opAtMost, property: e.property, values: []string{high}},
		), err
	case r.take(tokenWord, "IN"):
		e.op = opIn
		for sign := "("; r.take(tokenSign, sign); sign = "," {
			value, err := r.value()
			if err != nil {
				return e, err
			}
			e.values = append(e.values, value)
		}
		if e.values == nil || !r.take(tokenSign, ")") {
			return e, r.unexpected()
		}
		return e, nil
	}
	return e, r.unexpected()
}

// value reads a quoted value; an unquoted number is what the service answers with 500.
func (r *cqlReader) value() (string, error) {
	if r.peek().kind != tokenText {
		return "", r.unexpected()
	}
	return r.next().text, nil
}
