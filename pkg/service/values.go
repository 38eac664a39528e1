package service

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Values is what a query, or one chunk of it, asks: parameter → values as text. An interval is two values, from and to, or one
// (see ParseInterval). A filter in CQL2 text is one value in a query, and in a chunk any number of its alternatives.
type Values map[string][]string

// MaxValues is the most values that one query may have, over all parameters.
const MaxValues = 1 << 21

// ValueError is one thing wrong with the values of a query.
type ValueError struct {
	Parameter string
	Message   string
	At        []int // which values have the problem, by their index, the first ten; nil: it is no single value's
	Err       error // ErrUnknownParameter, ErrMissingParameter or ErrInvalidValue
}

// Error gives parameter and message.
func (e *ValueError) Error() string { return e.Parameter + ": " + e.Message }

// Unwrap gives the kind of error.
func (e *ValueError) Unwrap() error { return e.Err }

// ValueErrors is everything wrong with the values of a query, in the order of the declared parameters.
type ValueErrors []*ValueError

// Error gives one problem a line.
func (e ValueErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the problems.
func (e ValueErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

func (e *ValueErrors) add(param string, kind error, format string, args ...any) {
	*e = append(*e, &ValueError{Parameter: param, Message: fmt.Sprintf(format, args...), Err: kind})
}

// CheckValues reports everything that is wrong with the values of a query, as ValueErrors.
func (c *Collection) CheckValues(v Values) error {
	var errs ValueErrors
	c.checkNames(v, &errs)
	total := 0
	for i := range c.params {
		param := &c.params[i]
		values, given := param.given(v)
		total += len(values)
		c.checkAliases(param, v, &errs)
		switch {
		case given:
			c.checkList(param, values, &errs)
			c.checkQuotes(param, values, v, &errs)
		case param.Required && len(param.Default) == 0:
			errs.add(param.Name, ErrMissingParameter, "the collection %s needs a value", c.Name)
		}
	}
	if total > MaxValues {
		errs.add(c.Name, ErrInvalidValue, "%d values, at most %d in one query", total, MaxValues)
	}
	c.checkAlternatives(v, &errs)
	if len(errs) == 0 {
		return nil
	}
	return errs
}

func (c *Collection) checkNames(v Values, errs *ValueErrors) {
	names := c.parameterNames()
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, known := c.names[name]; !known {
			errs.add(fmt.Sprintf("%.100s", name), ErrUnknownParameter, "the collection %s has no such parameter%s", c.Name, strictyaml.DidYouMean(name, names))
		}
	}
}

// checkAliases refuses one parameter under two names: which of them is meant, nobody can tell.
func (c *Collection) checkAliases(param *Parameter, v Values, errs *ValueErrors) {
	var given []string
	for _, name := range append([]string{param.Name}, param.Aliases...) {
		if _, ok := v[name]; ok {
			given = append(given, name)
		}
	}
	if len(given) > 1 {
		errs.add(param.Name, ErrInvalidValue, "%s are one parameter; give it once", strings.Join(given, " and "))
	}
}

// maxShown is how many different problems of one parameter's values are reported.
const maxShown = 10

func (c *Collection) checkList(param *Parameter, values []string, errs *ValueErrors) {
	switch {
	case len(values) == 0:
		errs.add(param.Name, ErrInvalidValue, "the list of values is empty; leave the parameter out to ask for all")
		return
	case param.Type == TypeInterval:
		if _, err := ParseInterval(param.Of, values); err != nil {
			errs.add(param.Name, ErrInvalidValue, "%s", err)
		}
		return
	case len(values) > 1 && param.isFilter():
		errs.add(param.Name, ErrInvalidValue, "%d filters, and a query has one; join them with OR or AND", len(values))
	case len(values) > 1 && param.Many == "" && !c.onEachAxis(param.Name):
		errs.add(param.Name, ErrInvalidValue, "%d values, and the service takes one", len(values))
	}
	param.checkValues(values, errs)
}

// Accepts tells whether the parameter of that name, or other name, takes a value by itself. One that is not declared takes none.
func (c *Collection) Accepts(parameter, value string) bool {
	i := slices.IndexFunc(c.params, func(p Parameter) bool { return p.Name == parameter || slices.Contains(p.Aliases, parameter) })
	return i >= 0 && c.params[i].checkValue(value) == nil
}

// checkValues reports values that have one problem together, with the first of them.
func (p *Parameter) checkValues(values []string, errs *ValueErrors) {
	var firsts []*wrongValue
	counts := make(map[string]int)
	at := make(map[string][]int)
	rest := 0
	for i, value := range values {
		wrong := p.checkValue(value)
		switch {
		case wrong == nil:
			continue
		case counts[wrong.problem] > 0:
		case len(firsts) == maxShown:
			rest++
			continue
		default:
			firsts = append(firsts, wrong)
		}
		if counts[wrong.problem]++; counts[wrong.problem] <= maxShown {
			at[wrong.problem] = append(at[wrong.problem], i)
		}
	}
	for _, first := range firsts {
		errs.add(p.Name, ErrInvalidValue, "%s", first.report(counts[first.problem]))
		(*errs)[len(*errs)-1].At = at[first.problem]
	}
	if rest > 0 {
		errs.add(p.Name, ErrInvalidValue, "and %d more values are wrong", rest)
	}
}

func (c *Collection) checkAlternatives(v Values, errs *ValueErrors) {
	if len(c.exactlyOne) == 0 {
		return
	}
	var given []string
	for _, name := range c.exactlyOne {
		param, _ := c.parameter(name)
		if _, ok := param.given(v); ok {
			given = append(given, name)
		}
	}
	switch names := strings.Join(c.exactlyOne, ", "); {
	case len(given) == 0:
		errs.add(names, ErrMissingParameter, "give exactly one of them")
	case len(given) > 1:
		errs.add(strings.Join(given, ", "), ErrInvalidValue, "give exactly one of %s", names)
	}
}
