package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Check reports everything that is wrong with the values and columns of the query for a collection, each problem at the
// place where what is wrong was given, and adds to the notes of r what is doubtful, once however often it is called. Conditions that could not be read or resolved are known to be given, and their
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
				problems = append(problems, q.valueProblems(c, r, e)...)
			}
		}
	}
	problems = append(problems, q.openWindows(c, r)...)
	r.noteSpellings(c)
	for i, column := range q.Select {
		if column == "" {
			continue // told already
		}
		note, err := CheckColumn(c.Shape(), column)
		if err != nil {
			problems = append(problems, q.PlaceOf(fmt.Sprintf("select[%d]", i)).Problem("%s", err))
		}
		if strings.Contains(note, "did you mean") && c.AsksForColumns() {
			problems = append(problems, q.PlaceOf(fmt.Sprintf("select[%d]", i)).Problem("%s The service is asked for columns by name, and refuses what it does not know", note))
			continue
		}
		if note = "select: " + note; note != "select: " && !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	if q.Since != nil {
		if _, err := c.Narrowing(values, q.Since.Column); err != nil {
			problems = append(problems, q.PlaceOf("since").Problem("%s", err))
		}
	}
	for i, output := range q.Outputs {
		if output.Format == "geojson" && !mayHaveGeometry(c.Shape(), q.Select) {
			place := q.PlaceOf(fmt.Sprintf("output[%d]", i))
			problems = append(problems, place.Problem("GeoJSON needs a column of the type geometry, and this table has none; choose another format"))
		}
	}
	return problems
}

// openWindows tells of intervals without a beginning that would have to be divided into windows. An interval that is wrong
// otherwise has been told.
func (q *Query) openWindows(c *service.Collection, r *Resolved) strictyaml.Errors {
	var problems strictyaml.Errors
	for _, axis := range c.Axes() {
		if axis.Kind != service.AxisWindow || axis.Window.Span == (service.Span{}) {
			continue
		}
		name := givenAs(c, r, axis.Params[0])
		param, _ := parameterNamed(c, name)
		interval, err := service.ParseInterval(param.Of, r.Values[name])
		if err != nil || interval.Unit == service.UnitDuration || !interval.From.IsZero() {
			continue
		}
		place, _ := r.Place(name, -1)
		if source := r.origins[name].condition.Source.Interval; source != nil {
			place = place.below(source.fromLine, ".from")
		}
		problems = append(problems, place.Problem(
			"the service takes a limited span of time in one request, and this has no beginning to count from; give the day or time at which it begins"))
	}
	return problems
}

// valueProblems tells a problem at its place.
func (q *Query) valueProblems(c *service.Collection, r *Resolved, e *service.ValueError) strictyaml.Errors {
	name := givenAs(c, r, e.Parameter)
	switch {
	case len(e.At) > 0:
		return strictyaml.Errors{q.valueProblem(c, r, e)}
	case name == "":
		return strictyaml.Errors{q.placeOfAlternatives(c, r, e.Parameter).Problem("%s: %s", e.Parameter, e.Message)}
	}
	if ends := q.wrongEnds(c, r, name); len(ends) > 0 {
		return ends
	}
	place, _ := r.Place(name, -1)
	return strictyaml.Errors{place.Problem("%s", strings.ReplaceAll(e.Message, "\n", "; "))}
}

// valueProblem finds the place of what is wrong with single values: that of the first one, and the lines of the others in
// words.
func (q *Query) valueProblem(c *service.Collection, r *Resolved, e *service.ValueError) *strictyaml.Error {
	name := givenAs(c, r, e.Parameter)
	place, _ := r.Place(name, e.At[0])
	var others []string
	for _, i := range e.At[1:] {
		other, _ := r.Place(name, i)
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

// placeOfAlternatives is where the last one of several parameters was given. What was not given at all is missed where
// conditions stand.
func (q *Query) placeOfAlternatives(c *service.Collection, r *Resolved, names string) Place {
	place := q.PlaceOf("where")
	for name := range strings.SplitSeq(names, ", ") {
		if given, ok := r.Place(givenAs(c, r, name), -1); ok {
			place = given
		}
	}
	return place
}

// givenAs is the name under which a query gives a parameter, which may be one of its other names; empty when it does not.
func givenAs(c *service.Collection, r *Resolved, name string) string {
	names := []string{name}
	if param, ok := parameterNamed(c, name); ok {
		names = append(names, append([]string{param.Name}, param.Aliases...)...)
	}
	for _, name := range names {
		if _, ok := r.origins[name]; ok {
			return name
		}
	}
	return ""
}

// parameterNamed finds a parameter by any of its names.
func parameterNamed(c *service.Collection, name string) (service.Parameter, bool) {
	for _, param := range c.Parameters() {
		if param.Name == name || slices.Contains(param.Aliases, name) {
			return param, true
		}
	}
	return service.Parameter{}, false
}

// wrongEnds tells which ends of an interval are wrong by themselves.
func (q *Query) wrongEnds(c *service.Collection, r *Resolved, name string) strictyaml.Errors {
	param, ok := parameterNamed(c, name)
	interval, ends := r.origins[name].condition.Source.Interval, r.Values[name]
	if !ok || param.Type != service.TypeInterval || interval == nil || len(ends) != 2 {
		return nil
	}
	place, _ := r.Place(name, -1)
	var problems strictyaml.Errors
	if _, err := service.ParseInterval(param.Of, []string{ends[0], service.OpenEnd}); err != nil && ends[0] != service.OpenEnd {
		problems = append(problems, place.below(interval.fromLine, ".from").Problem("%s", err))
	}
	if _, err := service.ParseInterval(param.Of, []string{service.OpenEnd, ends[1]}); err != nil && ends[1] != service.OpenEnd {
		problems = append(problems, place.below(interval.toLine, ".to").Problem("%s", err))
	}
	return problems
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
