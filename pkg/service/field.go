package service

import (
	"regexp"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

type fieldRule struct {
	Type fieldType `yaml:"type,required"` // of the column
	From Path      `yaml:"from"`          // in the item
	Null []string  `yaml:"null"`          // texts that mean null
	Zone string    `yaml:"zone"`          // of times that are written without an offset
	Unit unitRule  `yaml:"unit"`          // of the values
}

// unitRule is the unit of a field's values, or {column: the field that has it}.
type unitRule struct{ text, column string }

const maxUnitBytes = 64

// UnmarshalStrict reads either form.
func (r *unitRule) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() != strictyaml.Mapping {
		n.Decode(&r.text)
		if r.text == "" || len(r.text) > maxUnitBytes {
			n.Fail("a unit has 1 to %d bytes; write ft^3/s, or {column: NAME} when a column has it", maxUnitBytes)
		}
		return
	}
	var in struct {
		Column string `yaml:"column,required"`
	}
	n.Decode(&in)
	r.column = in.Column
}

type fieldType frame.Type

// Choices lists the types of columns.
func (fieldType) Choices() []string {
	types := []frame.Type{
		frame.Text, frame.Int64, frame.Float64, frame.Decimal, frame.Bool,
		frame.Date, frame.Timestamp, frame.ListText, frame.JSON, frame.Geometry,
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

type unknownRule frame.UnknownRule

// Choices lists the rules.
func (unknownRule) Choices() []string {
	return []string{string(frame.UnknownText), string(frame.UnknownDrop), string(frame.UnknownFail)}
}

// duplicateRule is keep_first, fail_if_different, or {newest: column}.
type duplicateRule struct {
	rule     frame.DuplicateRule
	newestBy string
}

// UnmarshalStrict reads either form.
func (r *duplicateRule) UnmarshalStrict(n strictyaml.Node) {
	if n.Kind() != strictyaml.Mapping {
		r.rule = decodeChoice[frame.DuplicateRule](n, []string{string(frame.KeepFirst), string(frame.FailIfDifferent)}, nil)
		return
	}
	var newest struct {
		Newest string `yaml:"newest,required"`
	}
	n.Decode(&newest)
	r.rule, r.newestBy = frame.KeepNewest, newest.Newest
}

// fieldSet answers for each member of a row whether a field declares it.
type fieldSet struct {
	exact    map[string]bool
	prefixes []string
	suffixes []string
}

func newFieldSet(fields []frame.Field) fieldSet {
	set := fieldSet{exact: make(map[string]bool, len(fields))}
	for _, field := range fields {
		switch {
		case strings.HasSuffix(field.Name, "*"):
			set.prefixes = append(set.prefixes, strings.TrimSuffix(field.Name, "*"))
		case strings.HasPrefix(field.Name, "*"):
			set.suffixes = append(set.suffixes, strings.TrimPrefix(field.Name, "*"))
		default:
			set.exact[field.Name] = true
		}
	}
	return set
}

func (s fieldSet) has(name string) bool {
	return s.exact[name] ||
		slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(s.suffixes, func(p string) bool { return strings.HasSuffix(name, p) })
}

var zonePattern = regexp.MustCompile(`^[+-][0-9]{2}:[0-9]{2}$`)

// zoneOffset is the offset that a field's zone stands for.
func zoneOffset(field fieldRule, n strictyaml.Node) string {
	switch {
	case field.Zone == "":
	case frame.Type(field.Type) != frame.Timestamp:
		n.At("zone").Fail("belongs to fields of type timestamp only")
	case field.Zone == "UTC":
		return "Z"
	case !zonePattern.MatchString(field.Zone):
		n.At("zone").Fail("%.40q is not UTC and no offset such as -06:00", field.Zone)
	default:
		return field.Zone
	}
	return ""
}

func checkFieldName(n strictyaml.Node, name string, from Path) {
	stars := strings.Count(name, "*")
	switch {
	case name == "" || len(name) > 200:
		n.Fail("a column's name has 1 to 200 bytes")
	case stars > 1 || stars == 1 && !strings.HasPrefix(name, "*") && !strings.HasSuffix(name, "*"):
		n.Fail("write at most one star, at the beginning or the end")
	case stars == 1 && !from.IsZero():
		n.At("from").Fail("a family of columns has no path")
	}
}

// Shape says how the collection's rows become a table.
func (c *Collection) Shape() frame.Shape {
	shape := c.shape
	shape.Fields = slices.Clone(shape.Fields)
	shape.Key = slices.Clone(shape.Key)
	shape.Finalize = slices.Clone(shape.Finalize)
	return shape
}

func (c *Collection) setShape(rule collectionRule, n strictyaml.Node) {
	shape := frame.Shape{
		Unknown:     frame.UnknownRule(rule.UnknownFields),
		Key:         rule.Key,
		OnDuplicate: rule.OnDuplicate.rule,
		NewestBy:    rule.OnDuplicate.newestBy,
	}
	for name, field := range rule.Fields.All() {
		checkFieldName(n.At("fields", name), name, field.From)
		shape.Fields = append(shape.Fields, frame.Field{
			Name: name, Type: frame.Type(field.Type), From: field.From.String(), Null: field.Null, Zone: zoneOffset(field, n.At("fields", name)),
			Unit: field.Unit.text, UnitFrom: field.Unit.column,
		})
		if !field.From.IsZero() {
			c.rows.from = append(c.rows.from, fromField{name: name, path: field.From})
		}
	}
	if len(rule.Fields) == 0 {
		n.At("fields").Fail("declares no column; types come from here, never from the data")
	}
	c.checkTableFields(n.At("fields"))
	c.rows.fields = newFieldSet(shape.Fields)
	c.rows.unknown = shape.Unknown
	known := func(n strictyaml.Node, name string) {
		if !c.rows.fields.has(name) {
			n.Fail("the column %q is not declared under fields%s", name, strictyaml.DidYouMean(name, rule.Fields.Keys()))
		}
	}
	for i, name := range shape.Key {
		known(n.At("key", i), name)
	}
	if shape.OnDuplicate == frame.KeepNewest {
		known(n.At("on_duplicate", "newest"), shape.NewestBy)
	}
	for name, field := range rule.Fields.All() {
		if field.Unit.column != "" {
			known(n.At("fields", name, "unit", "column"), field.Unit.column)
		}
	}
	shape.Roles = rule.Summary.roles(n.At("summary"), known)
	columns := shape.Columns()
	for i, step := range rule.Finalize {
		operation := step.operation(n.At("finalize", i))
		shape.Finalize = append(shape.Finalize, operation)
		checkStep(n.At("finalize", i), operation, columns)
	}
	c.shape = shape
}
