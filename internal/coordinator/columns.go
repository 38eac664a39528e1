package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// checkSelect refuses a column that the table cannot have, before anything is sent: one that no field declares and no
// step of finalize makes. What a service sends without a declaration cannot be named in a select.
func checkSelect(shape frame.Shape) error {
	names := columnNames(shape)
	var errs []error
	for _, name := range shape.Select {
		if !slices.ContainsFunc(names, func(known string) bool { return covers(known, name) }) {
			errs = append(errs, fmt.Errorf("select: the table has no column %q%s; it has %s",
				name, strictyaml.DidYouMean(name, names), strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}

// columnNames are the names that the table may have after finalize, families with their star.
func columnNames(shape frame.Shape) []string {
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
