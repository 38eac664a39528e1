package service

import (
	"slices"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Collection is one kind of data that a service offers.
type Collection struct {
	Name   string
	Title  string
	Limits Limits // the service's, with the collection's own laid over them

	definition  *Definition
	request     requestRule
	fixedQuery  string // escaped
	contentType string // of a body; empty: the header says it
	header      map[string]string
	params      []Parameter
	names       map[string]int // of parameters, all that a query may use → index
	exactlyOne  []string
	axes        []Axis
	paging      Paging
	rows        rowRule
	shape       frame.Shape
	estimate    Estimate
	estimated   bool
}

// Definition gives the definition that the collection belongs to.
func (c *Collection) Definition() *Definition { return c.definition }

// ExactlyOne gives the parameters of which a query gives exactly one.
func (c *Collection) ExactlyOne() []string { return slices.Clone(c.exactlyOne) }

type collectionRule struct {
	Title         string                        `yaml:"title"`           // for people
	Limits        strictyaml.Node               `yaml:"limits"`          // laid over the service's
	Request       requestRule                   `yaml:"request"`         // what is sent; needed without an adapter
	Params        strictyaml.Map[parameterRule] `yaml:"params"`          // name → a parameter
	ExactlyOne    []string                      `yaml:"exactly_one"`     // parameters of which a query gives exactly one
	Axes          []axisRule                    `yaml:"axes"`            // how a query divides, the slowest first
	Paging        Paging                        `yaml:"paging"`          // how an answer goes on
	Rows          rowsRule                      `yaml:"rows"`            // where the rows stand in a page; needed without an adapter
	Fields        strictyaml.Map[fieldRule]     `yaml:"fields,required"` // column → its type
	UnknownFields unknownRule                   `yaml:"unknown_fields"`  // members of rows that no field declares
	Key           []string                      `yaml:"key"`             // columns that make a row the same as another one
	OnDuplicate   duplicateRule                 `yaml:"on_duplicate"`    // which of several rows of one key stays
	Finalize      []finalizeStep                `yaml:"finalize"`        // steps on the finished table, in order
	Estimate      estimateRule                  `yaml:"estimate"`        // how many rows to expect
	Summary       summaryRule                   `yaml:"summary"`         // columns that a person asks about first
}

// newCollection reads a collection that is laid over the defaults already. What is wrong is noted in the document.
func (d *Definition) newCollection(name string, n, limits strictyaml.Node) *Collection {
	rule := collectionRule{
		Paging:        defaultPaging(),
		UnknownFields: unknownRule(frame.UnknownText),
		OnDuplicate:   duplicateRule{rule: frame.KeepFirst},
	}
	n.Decode(&rule)
	checkName(n, name)
	c := &Collection{
		Name:       name,
		Title:      rule.Title,
		Limits:     decodeLimits(rule.Limits.Merge(limits)),
		definition: d,
		request:    rule.Request,
		exactlyOne: rule.ExactlyOne,
	}
	if rule.Limits.Has("in_flight") {
		rule.Limits.At("in_flight").Fail("belongs to the service's own limits: slots are shared by all collections")
	}
	c.setParams(rule.Params, n.At("params"))
	c.checkExactlyOne(n.At("exactly_one"))
	c.setAxes(rule.Axes, len(rule.Key) > 0, n.At("axes"))
	if c.needs(n, "rows") {
		c.setRows(rule.Rows, n.At("rows"))
	}
	c.setPaging(rule.Paging, n)
	c.setShape(rule, n)
	c.setEstimate(rule.Estimate, n.At("estimate"))
	if c.needs(n, "request") {
		c.setRequest(n.At("request"))
	}
	c.setHeader()
	return c
}

// needs tells whether a key is there. Where no adapter speaks for the definition it must be.
func (c *Collection) needs(n strictyaml.Node, key string) bool {
	given := n.Has(key)
	if !given && c.definition.Adapter == "" {
		n.Fail("the key %q is missing", key)
	}
	return given
}

func (c *Collection) checkExactlyOne(n strictyaml.Node) {
	if len(c.exactlyOne) == 1 {
		n.Fail("names one parameter; write `required: true` at the parameter instead")
	}
	for i, name := range c.exactlyOne {
		param, ok := c.parameter(name)
		switch {
		case !ok:
			n.At(i).Fail("the parameter %q is not declared%s", name, strictyaml.DidYouMean(name, c.parameterNames()))
		case param.Required || len(param.Default) > 0:
			n.At(i).Fail("the parameter %q is an alternative and can be neither required nor have a default", name)
		case slices.Index(c.exactlyOne, name) < i:
			n.At(i).Fail("the parameter %q stands twice", name)
		}
	}
}
