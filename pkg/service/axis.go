package service

import (
	"slices"

	"github.com/braidhq/braid/pkg/strictyaml"
)

// Axis is one direction in which a query divides. The order of axes is the order of the result, slowest first.
type Axis struct {
	Kind   AxisKind
	Params []string // for each the alternatives, of which a query gives one; else one
	Window Window   // of a window axis
}

// AxisKind tells how an axis divides.
type AxisKind string

// The kinds of axes.
const (
	AxisEach    AxisKind = "each"    // one request for each value
	AxisPack    AxisKind = "pack"    // as many values in a request as the limits allow
	AxisWindow  AxisKind = "window"  // pieces of an interval
	AxisClauses AxisKind = "clauses" // alternatives of a CQL2 text filter
)

// Window says how an interval is divided.
type Window struct {
	Span     Span // longest window; zero: divided only when the service refuses the whole, or when more chunks are asked for
	Align    Align
	Boundary Boundary
}

// Span is a length of time in units of the calendar.
type Span struct{ Years, Months, Days int }

// Align tells where windows begin.
type Align string

// The alignments.
const (
	AlignNone         Align = "none" // at the interval's own beginning
	AlignDay          Align = "day"
	AlignMonth        Align = "month"
	AlignCalendarYear Align = "calendar_year"
	AlignWaterYear    Align = "water_year" // October 1
)

// Boundary tells how two windows meet.
type Boundary string

// The boundaries.
const (
	BoundaryStep   Boundary = "step"   // the next window begins one step of the interval's form behind the one before
	BoundaryShared Boundary = "shared" // both have the instant between them; the key removes the rows that come twice
)

// Axes gives the axes, slowest first.
func (c *Collection) Axes() []Axis { return slices.Clone(c.axes) }

type axisRule struct {
	Each     strictyaml.OneOrMany[string] `yaml:"each"`
	Pack     string                       `yaml:"pack"`
	Window   strictyaml.Node              `yaml:"window,later"`
	Span     strictyaml.Node              `yaml:"span,later"`
	Align    strictyaml.Node              `yaml:"align,later"`
	Boundary strictyaml.Node              `yaml:"boundary,later"`
	Clauses  strictyaml.Node              `yaml:"clauses,later"`
}

func (r axisRule) axis(n strictyaml.Node) (Axis, bool) {
	later := []strictyaml.Node{r.Window, r.Span, r.Align, r.Boundary, r.Clauses}
	if slices.ContainsFunc(later, func(n strictyaml.Node) bool { return n.Kind() != strictyaml.Absent }) {
		n.Fail("window and clauses axes are not supported in this version; allowed are each, pack")
		return Axis{}, false
	}
	switch {
	case (r.Pack != "") == (len(r.Each) > 0):
		n.Fail("name exactly one of each, pack")
		return Axis{}, false
	case r.Pack != "":
		return Axis{Kind: AxisPack, Params: []string{r.Pack}}, true
	}
	return Axis{Kind: AxisEach, Params: r.Each}, true
}

func (c *Collection) setAxes(rules []axisRule, n strictyaml.Node) {
	used := make(map[string]bool)
	for i, rule := range rules {
		at := n.At(i)
		axis, ok := rule.axis(at)
		if !ok {
			continue
		}
		for _, name := range axis.Params {
			c.checkAxisParam(axis, name, at)
			if used[name] {
				at.Fail("the parameter %q is on two axes", name)
			}
			used[name] = true
		}
		c.axes = append(c.axes, axis)
	}
}

func (c *Collection) checkAxisParam(axis Axis, name string, n strictyaml.Node) {
	param, ok := c.parameter(name)
	switch {
	case !ok:
		n.Fail("the parameter %q is not declared%s", name, strictyaml.DidYouMean(name, c.parameterNames()))
	case param.Type == TypeInterval:
		n.Fail("the interval %q can be on a window axis only", name)
	case axis.Kind == AxisPack && param.Many == "":
		n.Fail("the parameter %q takes one value at a time; declare `many`, or use each", name)
	case len(axis.Params) > 1 && !slices.Contains(c.exactlyOne, name):
		n.Fail("the parameter %q is one of several alternatives and must stand in exactly_one", name)
	}
}

// onEachAxis tells whether a chunk holds one value of the parameter, however many the query gives.
func (c *Collection) onEachAxis(name string) bool {
	return slices.ContainsFunc(c.axes, func(a Axis) bool { return a.Kind == AxisEach && slices.Contains(a.Params, name) })
}
