package service

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/frame"
)

// Narrowing is the interval with which a query asks only for what is younger by a column.
type Narrowing struct {
	Parameter string
	Begin     string // as it was given; OpenEnd: it has none

	param *Parameter
	asked Interval   // the zero value: none is given
	of    frame.Type // of the column
}

// ErrNotNarrowed tells why a collection cannot be asked for what is younger by a column.
var ErrNotNarrowed = errors.New("cannot be asked for what is younger")

// Narrowing finds the interval that a column narrows: the one of its name; for the column of time, the only one or that of the name
// time. The error wraps ErrNotNarrowed.
func (c *Collection) Narrowing(v Values, column string) (*Narrowing, error) {
	refuse := func(format string, args ...any) (*Narrowing, error) {
		return nil, fmt.Errorf("%s %w by %q: %s", c.Name, ErrNotNarrowed, column, fmt.Sprintf(format, args...))
	}
	presence, t := c.shape.Columns().Find(column)
	switch {
	case len(c.shape.Key) == 0:
		return refuse("it has no key by which rows take the place of others")
	case presence != frame.Certain:
		return refuse("it declares no field of that name")
	case t != frame.Date && t != frame.Timestamp:
		return refuse("the column is a %s, want a date or a timestamp", t)
	}
	param := c.narrowed(column)
	if param == nil {
		return refuse("it has no interval of that name")
	}
	n := &Narrowing{Parameter: param.Name, Begin: OpenEnd, param: param, of: t}
	values, given := param.sent(v)
	if !given {
		return n, nil
	}
	span, err := ParseInterval(param.Of, values)
	switch {
	case err != nil:
		return nil, err
	case span.Single || span.Unit == UnitDuration:
		return refuse("%s is one time or a duration; write {from: …, to: …}", param.Name)
	case !span.From.IsZero():
		n.Begin, _ = span.ends()
	}
	n.asked = span
	return n, nil
}

// narrowed is the interval that a column narrows, or nil.
func (c *Collection) narrowed(column string) *Parameter {
	var intervals []*Parameter
	for i := range c.params {
		if c.params[i].Type == TypeInterval {
			intervals = append(intervals, &c.params[i])
		}
	}
	for _, name := range []string{column, "time"} {
		if i := slices.IndexFunc(intervals, func(p *Parameter) bool { return p.Name == name }); i >= 0 && (name == column || column == c.shape.Roles.Time) {
			return intervals[i]
		}
	}
	if len(intervals) == 1 && column == c.shape.Roles.Time {
		return intervals[0]
	}
	return nil
}

// After gives the values with an interval that begins at t at the latest, and not before the one that was given. One that ends
// before t asks for its last step.
func (n *Narrowing) After(v Values, t time.Time) Values {
	unit, to := n.asked.Unit, OpenEnd
	if n.asked == (Interval{}) {
		unit = beginning(n.param.Of)
	}
	t = n.early(unit, t)
	if !n.asked.Behind.IsZero() {
		_, to = n.asked.ends()
		if last := unit.last(n.asked.Behind); t.After(last) {
			t = last
		}
	}
	if t.Before(n.asked.From) {
		t = n.asked.From
	}
	narrowed := maps.Clone(v)
	if narrowed == nil {
		narrowed = Values{}
	}
	for _, name := range n.param.Aliases {
		delete(narrowed, name)
	}
	narrowed[n.Parameter] = []string{unit.Write(t), to}
	return narrowed
}

// early allows for what a day of the one side is by the clocks of the other: a day of the service may begin up to 14 hours before that
// of UTC, or 12 after it.
func (n *Narrowing) early(unit Unit, t time.Time) time.Time {
	switch {
	case n.of == frame.Timestamp && unit != UnitTimestamp:
		return t.Add(-12 * time.Hour)
	case n.of == frame.Date && unit == UnitTimestamp:
		return t.Add(-14 * time.Hour)
	}
	return t
}

// Lasting gives what of the values is the same in all runs that may go on from one another: intervals without their ends, and lists in
// one order.
func (c *Collection) Lasting(v Values) Values {
	lasting := make(Values, len(v))
	for name, values := range v {
		lasting[name] = slices.Sorted(slices.Values(values))
		param, known := c.parameter(name)
		if !known || param.Type != TypeInterval {
			continue
		}
		lasting[name] = values
		if span, err := ParseInterval(param.Of, values); err == nil && !span.Single && span.Unit != UnitDuration {
			from, _ := span.ends()
			lasting[name] = []string{from}
		}
	}
	return lasting
}

// Extends tells whether rows that were asked for at a time are a beginning of what is asked for now, where all but the ends of
// intervals is the same. The narrowed interval may end later than before. Another one may do so if it had no end before, or one that was
// not over yet: what lies between is younger by any column.
func (n *Narrowing) Extends(c *Collection, before, now Values, at time.Time) bool {
	for i := range c.params {
		param := &c.params[i]
		if param.Type != TypeInterval {
			continue
		}
		was, is := behind(param, before), behind(param, now)
		switch {
		case was.Equal(is): // none, or the same
		case param.Name == n.Parameter:
			if !is.IsZero() && (was.IsZero() || was.After(at)) {
				was = at
			}
			if !is.IsZero() && is.Before(was) {
				return false
			}
		case !was.IsZero() && was.Before(at) || !is.IsZero() && (was.IsZero() || is.Before(was)):
			return false
		}
	}
	return true
}

// behind is where an interval ends; the zero time: nowhere.
func behind(param *Parameter, v Values) time.Time {
	values, given := param.sent(v)
	if !given {
		return time.Time{}
	}
	span, err := ParseInterval(param.Of, values)
	if err != nil {
		return time.Time{}
	}
	return span.Behind
}

// From gives the values with an interval that has another begin.
func (n *Narrowing) From(v Values, begin string) Values {
	widened := maps.Clone(v)
	_, to := n.asked.ends()
	if delete(widened, n.Parameter); begin != OpenEnd || to != OpenEnd {
		widened[n.Parameter] = []string{begin, to}
	}
	return widened
}

// beginning is the finest form that an interval's begin may have.
func beginning(of []Unit) Unit {
	for _, unit := range []Unit{UnitTimestamp, UnitDate, UnitMonth} {
		if slices.Contains(of, unit) {
			return unit
		}
	}
	return UnitYear
}
