package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Check reports everything that is wrong with the values and columns of the query for a collection, each problem at the
// place where what is wrong was given. Conditions that could not be read or resolved are known to be given, and their
// values are not judged.
func (q *Query) Check(c *service.Collection, r *Resolved) strictyaml.Errors {
	values, unusable := make(service.Values, len(q.Where)), map[string]bool{}
	for _, condition := range q.Where {
		list, ok := r.Values[condition.Parameter]
		values[condition.Parameter], unusable[condition.Parameter] = list, !ok
	}
	var problems strictyaml.Errors
	var wrong service.ValueErrors
	if err := c.CheckValues(values); errors.As(err, &wrong) {
		for _, e := range wrong {
			if !unusable[e.Parameter] || errors.Is(e, service.ErrUnknownParameter) {
				problems = append(problems, q.valueProblem(c, r, e))
			}
		}
	}
	for i, column := range q.Select {
		if err := CheckColumn(c.Shape(), column); err != nil && column != "" {
			problems = append(problems, q.PlaceOf(fmt.Sprintf("select[%d]", i)).Problem("%s", err))
		}
	}
	return problems
}

// valueProblem finds the place of a problem: that of the first value that has it, and the lines of the others in words.
func (q *Query) valueProblem(c *service.Collection, r *Resolved, e *service.ValueError) *strictyaml.Error {
	if len(e.At) == 0 {
		place, named := q.placeOfParameter(c, r, e.Parameter)
		if !named {
			return place.Problem("%s: %s", e.Parameter, e.Message)
		}
		return place.Problem("%s", e.Message)
	}
	place, _ := r.Place(e.Parameter, e.At[0])
	var others []string
	for _, i := range e.At[1:] {
		other, _ := r.Place(e.Parameter, i)
		if line := fmt.Sprint(other.Line); other.Line > 0 && other.Line != place.Line && (len(others) == 0 || others[len(others)-1] != line) {
			others = append(others, line)
		}
	}
	switch len(others) {
	case 0:
		return place.Problem("%s", e.Message)
	case 1:
		return place.Problem("%s (also in line %s)", e.Message, others[0])
	}
	return place.Problem("%s (also in lines %s)", e.Message, strings.Join(others, ", "))
}

// placeOfParameter is where a parameter was given. Of alternatives, which are named together, it is the last given one;
// what was not given at all is missed where conditions stand. named tells whether the place names the parameter.
func (q *Query) placeOfParameter(c *service.Collection, r *Resolved, names string) (place Place, named bool) {
	if place, ok := r.Place(names, -1); ok {
		return q.wrongEnd(c, r, names, place), true
	}
	given := false
	for name := range strings.SplitSeq(names, ", ") {
		if p, ok := r.Place(name, -1); ok {
			place, given = p, true
		}
	}
	if given {
		return place, false
	}
	return q.PlaceOf("where"), false
}

// wrongEnd is the place of the end that is wrong, of an interval of which one is.
func (q *Query) wrongEnd(c *service.Collection, r *Resolved, name string, place Place) Place {
	interval := r.origins[name].condition.Source.Interval
	ends := r.Values[name]
	if interval == nil || len(ends) != 2 {
		return place
	}
	for _, param := range c.Parameters() {
		if param.Name != name || param.Type != service.TypeInterval {
			continue
		}
		if _, err := service.ParseInterval(param.Of, []string{ends[0], service.OpenEnd}); err != nil && ends[0] != service.OpenEnd {
			return place.below(interval.fromLine, ".from")
		}
		if _, err := service.ParseInterval(param.Of, []string{service.OpenEnd, ends[1]}); err != nil && ends[1] != service.OpenEnd {
			return place.below(interval.toLine, ".to")
		}
	}
	return place
}

// PlaceOfValue tells where a value of a parameter was given, or the parameter itself when the value is empty.
func (q *Query) PlaceOfValue(r *Resolved, parameter, value string) Place {
	index := -1
	for i, have := range r.Values[parameter] {
		if have == value && value != "" {
			index = i
			break
		}
	}
	if place, ok := r.Place(parameter, index); ok {
		return place
	}
	return q.PlaceOf("where")
}
