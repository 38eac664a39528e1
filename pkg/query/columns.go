package query

import (
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// CheckColumn refuses a column that a table of this shape cannot have: one that no field declares, no step of finalize makes
// and no service may send. The note is for a person who asks for a column that no field declares and that the service may
// send: its name may be written wrong.
func CheckColumn(shape frame.Shape, name string) (note string, err error) {
	columns := shape.Columns()
	for i, step := range shape.Finalize {
		if err := columns.Apply(step); err != nil {
			return "", fmt.Errorf("finalize[%d]: %w", i, err)
		}
	}
	switch presence, _ := columns.Find(name); presence {
	case frame.Impossible:
		return "", fmt.Errorf("the table has no column %q%s", name, strictyaml.DidYouMean(name, columns.Names()))
	case frame.Undeclared:
		note = fmt.Sprintf("no field declares the column %q; it is text if the service sends it, and else null in each row", name)
		if near := strictyaml.Nearest(name, columns.Names()); near != "" {
			note += fmt.Sprintf("; did you mean %q?", near)
		}
		return note, nil
	default:
		return "", nil
	}
}

// mayHaveGeometry tells whether a table of this shape can have a column of the type geometry.
func mayHaveGeometry(shape frame.Shape, selected []string) bool {
	columns := shape.Columns()
	for _, step := range shape.Finalize {
		if columns.Apply(step) != nil {
			return true // told elsewhere
		}
	}
	if len(selected) == 0 {
		selected = columns.Names()
	}
	return slices.ContainsFunc(selected, func(name string) bool {
		_, t := columns.Find(name)
		return t == frame.Geometry
	})
}
