package simulator

import (
	"slices"
	"strings"
)

// expression is a filter. The zero value holds for every row.
type expression struct {
	op       operator
	args     []expression // of and, or, not
	property string
	values   []string // of in and the comparisons
	when     interval // of during
}

type operator string

const (
	opAll     operator = ""
	opAnd     operator = "and"
	opOr      operator = "or"
	opNot     operator = "not"
	opIn      operator = "in"
	opLess    operator = "<"
	opAtMost  operator = "<="
	opMore    operator = ">"
	opAtLeast operator = ">="
	opLike    operator = "like"
	opIsNull  operator = "isNull"
	opDuring  operator = "during"
)

// truth is SQL's: a comparison with null is neither true nor false.
type truth int

const (
	isFalse   truth = -1
	isUnknown truth = 0
	isTrue    truth = 1
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// holds evaluates the expression for one row. Every comparison is one of texts, as the service types every column.
func (e expression) holds(value func(property string) cell) truth {
	switch e.op {
	case opAll:
		return isTrue
	case opAnd:
		result := isTrue
		for _, arg := range e.args {
			result = min(result, arg.holds(value))
		}
		return result
	case opOr:
		result := isFalse
		for _, arg := range e.args {
			result = max(result, arg.holds(value))
		}
		return result
	case opNot:
		return -e.args[0].holds(value)
	case opIsNull:
		return truthOf(value(e.property).kind == cellNull)
	default:
		return e.compare(value(e.property))
	}
}

func (e expression) compare(c cell) truth {
	if c.kind == cellNull {
		return isUnknown
	}
	switch e.op {
	case opIn:
		return truthOf(slices.Contains(e.values, c.text))
	case opLess:
		return truthOf(c.text < e.values[0])
	case opAtMost:
		return truthOf(c.text <= e.values[0])
	case opMore:
		return truthOf(c.text > e.values[0])
	case opAtLeast:
		return truthOf(c.text >= e.values[0])
	case opLike:
		return truthOf(like(c.text, e.values[0]))
	case opDuring:
		at, err := parseMoment(c.text)
		if err != nil {
			at, err = parseMoment(c.text + "Z") // a local time is UTC
		}
		return truthOf(err == nil && e.when.meets(at))
	default:
		return isUnknown
	}
}

// like matches SQL's pattern, % and _, case counting.
func like(text, pattern string) bool {
	parts := strings.Split(pattern, "%")
	head, tail := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return len(text) == len(pattern) && matchesPlain(text, pattern)
	}
	if len(text) < len(head)+len(tail) || !matchesPlain(text, head) || !matchesPlain(text[len(text)-len(tail):], tail) {
		return false
	}
	text = text[len(head) : len(text)-len(tail)]
	for _, part := range parts[1 : len(parts)-1] {
		for !matchesPlain(text, part) {
			if text == "" {
				return false
			}
			text = text[1:]
		}
		text = text[len(part):]
	}
	return true
}

// matchesPlain tells whether text begins with a pattern without %.
func matchesPlain(text, pattern string) bool {
	if len(text) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '_' && pattern[i] != text[i] {
			return false
		}
	}
	return true
}

// properties lists every property the expression names.
func (e expression) properties() []string {
	var list []string
	if e.property != "" {
		list = append(list, e.property)
	}
	for _, arg := range e.args {
		list = append(list, arg.properties()...)
	}
	return list
}

// only gives the values that a property can have in rows for which the expression holds, sorted; limited is false when it
// says nothing about them.
func (e expression) only(property string) (values []string, limited bool) {
	switch e.op {
	case opIn:
		if e.property == property {
			return slices.Compact(slices.Sorted(slices.Values(e.values))), true
		}
	case opAnd:
		for _, arg := range e.args {
			more, ok := arg.only(property)
			switch {
			case ok && limited:
				values = slices.DeleteFunc(values, func(v string) bool { return !slices.Contains(more, v) })
			case ok:
				values, limited = more, true
			}
		}
		return values, limited
	case opOr:
		for _, arg := range e.args {
			more, ok := arg.only(property)
			if !ok {
				return nil, false
			}
			values = append(values, more...)
		}
		slices.Sort(values)
		return slices.Compact(values), true
	default:
	}
	return nil, false
}

// during gives the stretch of time that a property must lie in for the expression to hold; open when it says nothing.
func (e expression) during(property string) interval {
	var i interval
	switch e.op {
	case opDuring:
		if e.property == property {
			return e.when
		}
	case opAnd:
		for _, arg := range e.args {
			i = i.overlap(arg.during(property))
		}
	default:
	}
	return i
}

// and joins expressions, leaving out those that hold for every row.
func and(list ...expression) expression {
	list = slices.DeleteFunc(list, func(e expression) bool { return e.op == opAll })
	switch len(list) {
	case 0:
		return expression{}
	case 1:
		return list[0]
	}
	return expression{op: opAnd, args: list}
}
