package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// CheckColumn refuses a column that a table of this shape cannot have: one that no field declares and no step of finalize
// makes. What a service sends without a declaration cannot be named in a select.
func CheckColumn(shape frame.Shape, name string) error {
	names := ColumnNames(shape)
	if slices.ContainsFunc(names, func(known string) bool { return covers(known, name) }) {
		return nil
	}
	return fmt.Errorf("the table has no column %q%s", name, strictyaml.DidYouMean(name, names))
}

// ColumnNames are the names that a table of this shape may have after finalize, families with their star, sorted.
func ColumnNames(shape frame.Shape) []string {
	var names []string
	for _, field := range shape.Fields {
		names = append(names, field.Name)
	}
	for _, step := range shape.Finalize {
		for i, name := range names {
			if renamed, ok := step.Rename[name]; ok {
				names[i] = renamed
			}
		}
		for name := range step.Add {
			names = append(names, name)
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains(step.Drop, name) || len(step.Select) > 0 && !slices.Contains(step.Select, name)
		})
	}
	slices.Sort(names)
	return names
}

func covers(known, name string) bool {
	if before, ok := strings.CutSuffix(known, "*"); ok {
		return strings.HasPrefix(name, before)
	}
	if behind, ok := strings.CutPrefix(known, "*"); ok {
		return strings.HasSuffix(name, behind)
	}
	return known == name
}
