package service

import (
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// finalizeStep is one operation of finalize: exactly one member is set.
type finalizeStep struct {
	Rename map[string]string                       `yaml:"rename"` // old name → new
	Drop   []string                                `yaml:"drop"`   // columns
	Select []string                                `yaml:"select"` // columns, in this order
	Add    map[string]string                       `yaml:"add"`    // column → its text
	Cast   map[string]fieldType                    `yaml:"cast"`   // column → type
	Filter map[string]strictyaml.OneOrMany[string] `yaml:"filter"` // column → texts, one of which a row has
	Sort   []string                                `yaml:"sort"`   // columns
	Limit  *int                                    `yaml:"limit"`  // rows
}

func (s finalizeStep) operation(n strictyaml.Node) frame.Operation {
	if n.Len() != 1 {
		n.Fail("a step is exactly one of rename, drop, select, add, cast, filter, sort, limit")
		return frame.Operation{}
	}
	for _, value := range n.Entries() {
		if value.Kind() != strictyaml.Scalar && value.Len() == 0 {
			value.Fail("is empty")
		}
	}
	if s.Limit != nil && *s.Limit < 0 {
		n.At("limit").Fail("%d is negative", *s.Limit)
	}
	operation := frame.Operation{Rename: s.Rename, Drop: s.Drop, Select: s.Select, Add: s.Add, Sort: s.Sort, Limit: s.Limit}
	if s.Cast != nil {
		operation.Cast = make(map[string]frame.Type, len(s.Cast))
		for column, t := range s.Cast {
			operation.Cast[column] = frame.Type(t)
		}
	}
	if s.Filter != nil {
		operation.Filter = make(map[string][]string, len(s.Filter))
		for column, values := range s.Filter {
			operation.Filter[column] = values
		}
	}
	return operation
}

// checkStep refuses a step that names a column which no row can have there: found at the end it would cost the whole quota.
func checkStep(n strictyaml.Node, step frame.Operation, columns *frame.Columns) {
	check := func(at strictyaml.Node, name string) {
		if presence, _ := columns.Find(name); presence == frame.Impossible && name != "" {
			at.Fail("there is no column %q here%s", name, strictyaml.DidYouMean(name, columns.Names()))
		}
	}
	for i, name := range slices.Concat(step.Drop, step.Select, step.Sort) { // a step has one of them
		for key := range n.Entries() {
			check(n.At(key, i), name)
		}
	}
	for _, key := range []string{"rename", "cast", "filter"} {
		if n.Has(key) {
			for name, value := range n.At(key).Entries() {
				check(value, name)
			}
		}
	}
	if err := columns.Apply(step); err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ")
		n.Fail("%s", text)
	}
}
