package frame

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// viewColumn is a column of the table in terms of the stored rows. Rename, drop, select, add and cast only change the
// view; the stored rows stay as they are.
type viewColumn struct {
	Column
	source   int // index of the stored column, constant when there is none
	constant string
	absent   bool // no row has it: null
	// movedFrom is the name that finalize has given to another column.
	movedFrom string
	casts     []Type // what the text must also fit, in order
}

const noSource = -1

func (c *viewColumn) value(stored Row) Value {
	v := Value{Text: c.constant, Null: c.absent}
	if c.source != noSource {
		v = stored[c.source]
	}
	for _, t := range c.casts {
		if v.Null || !fits(t, v.Text) {
			return Value{Null: true}
		}
	}
	return v
}

// finalizer is finalize, compiled against the columns that there are.
type finalizer struct {
	view   []viewColumn
	known  *Columns
	absent []string // columns that were named and that no row has
	stages []*stage
}

func newFinalizer(shape Shape, columns []storedColumn) (*finalizer, error) {
	f := &finalizer{known: shape.Columns(), stages: []*stage{{limit: noLimit}}}
	for i, c := range columns {
		f.view = append(f.view, viewColumn{Column: c.Column, source: i})
	}
	for i, op := range shape.Finalize {
		err := f.compile(op)
		if err == nil {
			err = f.known.Apply(op)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: finalize[%d]: %w", ErrShape, i, err)
		}
	}
	if len(shape.Select) > 0 {
		if err := f.choose(shape.Select); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrShape, err)
		}
	}
	f.nameUnits(columns)
	return f, nil
}

// nameUnits gives the columns with units their names in the table; one that the table lacks is not named.
func (f *finalizer) nameUnits(columns []storedColumn) {
	for i := range f.view {
		of := f.view[i].UnitColumn
		if of == "" {
			continue
		}
		f.view[i].UnitColumn = ""
		for _, c := range f.view {
			if c.source != noSource && columns[c.source].Name == of {
				f.view[i].UnitColumn = c.Name
				break
			}
		}
	}
}

func (f *finalizer) compile(op Operation) error {
	switch {
	case len(op.Rename) > 0:
		return f.rename(op.Rename)
	case len(op.Drop) > 0:
		return f.drop(op.Drop)
	case len(op.Select) > 0:
		return f.choose(op.Select)
	case len(op.Add) > 0:
		return f.add(op.Add)
	case len(op.Cast) > 0:
		return f.cast(op.Cast)
	case len(op.Filter) > 0:
		return f.filter(op.Filter)
	case len(op.Sort) > 0:
		return f.sort(op.Sort)
	}
	f.limit(*op.Limit)
	return nil
}

func (f *finalizer) place(name string) int {
	return slices.IndexFunc(f.view, func(c viewColumn) bool { return c.Name == name })
}

// find gives a column of the view. One that the service may send and that no row has is null in each row: what a table is
// must not depend on which rows came. Only a column that cannot be is an error.
func (f *finalizer) find(what, name string) (viewColumn, error) {
	if i := f.place(name); i >= 0 {
		return f.view[i], nil
	}
	presence, t := f.known.Find(name)
	if presence == Impossible {
		names := make([]string, len(f.view))
		for i, c := range f.view {
			names[i] = c.Name
		}
		return viewColumn{}, fmt.Errorf("%s: no column %q here; the columns are %s; declare a field of that name if rows may lack it",
			what, name, clip(strings.Join(names, ", ")))
	}
	if !slices.Contains(f.absent, name) {
		f.absent = append(f.absent, name)
	}
	return viewColumn{Column: Column{Name: name, Type: t, Declared: presence != Undeclared}, source: noSource, absent: true}, nil
}

func (f *finalizer) rename(names map[string]string) error {
	renamed, seen, err := f.renamed(names)
	if err != nil {
		return err
	}
	for old, name := range sorted(names) {
		if name == "" {
			return fmt.Errorf("rename: %q to an empty name", old)
		}
		if f.place(old) >= 0 {
			continue
		}
		c, err := f.find("rename", old)
		if err != nil {
			return err
		}
		if !seen[name] { // else rows have the column by its new name
			c.Name, seen[name] = name, true
			renamed = append(renamed, c)
		}
	}
	f.view = renamed
	return nil
}

// renamed gives the columns of the view by their new names. Of several that would have one name a column that is there whatever
// the rows are keeps it, else the one that the step names, else the first.
func (f *finalizer) renamed(names map[string]string) (renamed []viewColumn, seen map[string]bool, err error) {
	renamed, seen = slices.Clone(f.view), make(map[string]bool, len(f.view))
	rank := make([]int, len(renamed))
	keeper := make(map[string]int, len(renamed))
	for i := range renamed {
		name, named := names[renamed[i].Name]
		switch {
		case f.isCertain(renamed[i].Name):
			rank[i] = 2
		case named:
			rank[i] = 1
		}
		if named {
			renamed[i].Name = name
		}
		k, twice := keeper[renamed[i].Name]
		switch {
		case twice && rank[i] == 2 && rank[k] == 2:
			return nil, nil, fmt.Errorf("rename: two columns would be %q; drop one first", renamed[i].Name)
		case !twice || rank[i] > rank[k]:
			keeper[renamed[i].Name] = i
		}
		seen[renamed[i].Name] = true
	}
	for i, c := range renamed {
		if keeper[c.Name] != i {
			renamed[i] = f.moved(c, f.view[i].Name, seen)
			seen[renamed[i].Name] = true
		}
	}
	return renamed, seen, nil
}

// isCertain tells whether a column is there whatever the rows are.
func (f *finalizer) isCertain(name string) bool {
	presence, _ := f.known.Find(name)
	return presence == Certain
}

// moved gives a column that the service sends unasked for another name than the one that a step has made: when it is found, all
// rows have been fetched, and the table is to be possible.
func (f *finalizer) moved(c viewColumn, was string, taken map[string]bool) viewColumn {
	if c.movedFrom == "" {
		c.movedFrom = was
	}
	for taken[c.Name] || f.isCertain(c.Name) {
		c.Name += "_source"
	}
	return c
}

func (f *finalizer) drop(names []string) error {
	for _, name := range names {
		if _, err := f.find("drop", name); err != nil {
			return err
		}
		if i := f.place(name); i >= 0 {
			f.view = slices.Concat(f.view[:i], f.view[i+1:])
		}
	}
	return nil
}

func (f *finalizer) choose(names []string) error {
	chosen := make([]viewColumn, len(names))
	for to, name := range names {
		var err error
		if chosen[to], err = f.find("select", name); err != nil {
			return err
		}
	}
	f.view = chosen
	return nil
}

func (f *finalizer) add(constants map[string]string) error {
	for name, text := range sorted(constants) {
		if name == "" {
			return errors.New("add: an empty name")
		}
		if i := f.place(name); i >= 0 {
			if f.isCertain(name) {
				return fmt.Errorf("add: there is a column %q already; drop or rename it first", name)
			}
			taken := make(map[string]bool, len(f.view)+len(constants))
			for _, c := range f.view {
				taken[c.Name] = true
			}
			for added := range constants {
				taken[added] = true
			}
			f.view = slices.Clone(f.view)
			f.view[i] = f.moved(f.view[i], name, taken)
		}
		f.view = append(slices.Clip(f.view), viewColumn{Column: Column{Name: name, Type: Text, Declared: true}, source: noSource, constant: text})
	}
	return nil
}

func (f *finalizer) cast(casts map[string]Type) error {
	view := slices.Clone(f.view)
	for name := range sorted(casts) {
		c, err := f.find("cast", name)
		if err != nil {
			return err
		}
		if f.place(name) < 0 {
			view = append(view, c)
		}
	}
	for i, c := range view {
		if t, found := casts[c.Name]; found && t != c.Type {
			f.stage().look(castStep(c, t))
			view[i].Type = t
			view[i].casts = slices.Concat(c.casts, []Type{t})
		}
	}
	f.view = view
	return nil
}

// sorted walks a map in bytewise order of its keys: neither results nor errors may depend on a map's order.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
