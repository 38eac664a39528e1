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
	absent   bool   // no row has it: null
	casts    []Type // what the text must also fit, in order
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
	moved  []Moved  // columns that gave way to one that a step makes
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
	return f, nil
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
	return viewColumn{Column: Column{name, t, presence != Undeclared}, source: noSource, absent: true}, nil
}

// giveWay gives another name to an undeclared column that has the one that a step makes. What a service sends besides what is
// declared must not make a table impossible once all of it has been fetched.
func (f *finalizer) giveWay(name string) {
	i := f.place(name)
	if i < 0 || f.view[i].Declared {
		return
	}
	as := name
	for f.place(as) >= 0 {
		as += "_source"
	}
	f.view = slices.Clone(f.view)
	f.view[i].Name = as
	f.moved = append(f.moved, Moved{Name: name, As: as})
}

func (f *finalizer) rename(names map[string]string) error {
	for old, name := range sorted(names) {
		if _, renamed := names[name]; !renamed && f.place(old) >= 0 {
			f.giveWay(name)
		}
	}
	var renamed []viewColumn
	for _, c := range f.view {
		if name, ok := names[c.Name]; ok {
			c.Name = name
		}
		renamed = append(renamed, c)
	}
	seen := make(map[string]bool, len(renamed))
	for _, c := range renamed {
		if seen[c.Name] {
			return fmt.Errorf("rename: two columns would be %q; drop one first", c.Name)
		}
		seen[c.Name] = true
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
		f.giveWay(name)
		if f.place(name) >= 0 {
			return fmt.Errorf("add: there is a column %q already; drop or rename it first", name)
		}
		f.view = append(slices.Clip(f.view), viewColumn{Column: Column{name, Text, true}, source: noSource, constant: text})
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
