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
	asked Interval // the zero value: none is given
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
	n := &Narrowing{Parameter: param.Name, Begin: OpenEnd, param: param}
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
