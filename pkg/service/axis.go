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

// Axes gives the axes, slowest first.
func (c *Collection) Axes() []Axis { return slices.Clone(c.axes) }

type axisRule struct {
	Each     strictyaml.OneOrMany[string] `yaml:"each"`     // one request for each value
	Pack     strictyaml.OneOrMany[string] `yaml:"pack"`     // as many values in a request as the limits allow
	Window   string                       `yaml:"window"`   // pieces of an interval
	Span     Span                         `yaml:"span"`     // of window: the longest one
	Align    Align                        `yaml:"align"`    // of window: where windows begin
	Boundary Boundary                     `yaml:"boundary"` // of window: whether neighbours share an instant
	Clauses  string                       `yaml:"clauses"`  // alternatives of a filter in CQL2 text
}

func (r axisRule) axis(n strictyaml.Node) (Axis, bool) {
	axis, kinds := Axis{}, 0
	for _, kind := range []Axis{
		{Kind: AxisEach, Params: r.Each},
		{Kind: AxisPack, Params: r.Pack},
		{Kind: AxisWindow, Params: []string{r.Window}, Window: Window{Span: r.Span, Align: r.Align, Boundary: r.Boundary}},
		{Kind: AxisClauses, Params: []string{r.Clauses}},
	} {
		if len(kind.Params) > 0 && kind.Params[0] != "" {
			axis = kind
			kinds++
		}
	}
	if kinds != 1 {
		n.Fail("name exactly one of each, pack, window, clauses")
		return Axis{}, false
	}
	if axis.Kind == AxisWindow {
		return axis, true
	}
	for _, key := range []string{"span", "align", "boundary"} {
		if n.Has(key) {
			n.At(key).Fail("belongs to a window axis only")
		}
	}
	return axis, true
}

func (c *Collection) setAxes(rules []axisRule, keyed bool, n strictyaml.Node) {
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
		switch {
		case axis.Kind == AxisWindow:
			c.checkWindow(&axis, keyed, at)
		case axis.Kind == AxisClauses && !keyed:
			at.Fail("the parts of a filter overlap, so that rows come twice; declare the `key` that tells which, or leave the axis out")
		}
		if axis.Kind != AxisPack {
			c.axes = append(c.axes, axis)
			continue
		}
		for _, name := range axis.Params {
			c.axes = append(c.axes, Axis{Kind: AxisPack, Params: []string{name}})
		}
	}
	for i := range c.params {
		if language := c.params[i].Language; used[language] {
			n.Fail("the parameter %q tells the language of a filter, and cannot be divided", language)
		}
	}
}

func (c *Collection) checkAxisParam(axis Axis, name string, n strictyaml.Node) {
	param, ok := c.parameter(name)
	switch {
	case !ok:
		n.Fail("the parameter %q is not declared%s", name, strictyaml.DidYouMean(name, c.parameterNames()))
	case axis.Kind == AxisWindow && param.Type != TypeInterval:
		n.Fail("the parameter %q is no interval, and only an interval has windows", name)
	case axis.Kind == AxisClauses && param.Type != TypeCQL2Text:
		n.Fail("the parameter %q is not of the type cql2_text, and only such a filter has clauses", name)
	case axis.Kind == AxisWindow || axis.Kind == AxisClauses:
	case param.Type == TypeInterval:
		n.Fail("the interval %q can be on a window axis only", name)
	case param.Type == TypeCQL2Text:
		n.Fail("the filter %q can be on a clauses axis only", name)
	case param.Type == TypeCQL2JSON || param.Type == TypeColumns:
		n.Fail("the parameter %q is of the type %s, by which nothing divides", name, param.Type)
	case axis.Kind == AxisPack && param.Many == "":
		n.Fail("the parameter %q takes one value at a time; declare `many`, or use each", name)
	case axis.Kind == AxisEach && len(axis.Params) > 1 && !slices.Contains(c.exactlyOne, name):
		n.Fail("the parameter %q is one of several alternatives and must stand in exactly_one", name)
	}
}

// onEachAxis tells whether a chunk holds one value of the parameter, however many the query gives.
func (c *Collection) onEachAxis(name string) bool {
	return slices.ContainsFunc(c.axes, func(a Axis) bool { return a.Kind == AxisEach && slices.Contains(a.Params, name) })
}
