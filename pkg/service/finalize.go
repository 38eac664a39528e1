package service

import (
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// finalizeStep is one operation of finalize: exactly one member is set.
type finalizeStep struct {
	Rename map[string]string                       `yaml:"rename"`
	Drop   []string                                `yaml:"drop"`
	Select []string                                `yaml:"select"`
	Add    map[string]string                       `yaml:"add"`
	Cast   map[string]fieldType                    `yaml:"cast"`
	Filter map[string]strictyaml.OneOrMany[string] `yaml:"filter"`
	Sort   []string                                `yaml:"sort"`
	Limit  *int                                    `yaml:"limit"`
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
