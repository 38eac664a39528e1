package frame

import (
	"fmt"
	"maps"
	"slices"
)

// Presence tells what is known of a column before the rows are.
type Presence int

// What may be known of a column.
const (
	Impossible Presence = iota // no row can make it
	Undeclared                 // no field declares it, and a service may send it: it is text
	Family                     // a field with a star declares it
	Certain                    // a field or finalize declares it: it is there whatever the rows are
)

// Columns are those that a table may have, before its rows are known. Apply follows them through finalize.
type Columns struct {
	families []Field
	types    map[string]Type // of certain columns
	gone     map[string]bool // renamed or dropped
	open     bool            // what no field declares is kept
	chosen   bool            // there are no others any more
}

// Columns gives those that rows have, before any step of finalize.
func (s Shape) Columns() *Columns {
	c := &Columns{types: map[string]Type{}, gone: map[string]bool{}, open: s.Unknown == "" || s.Unknown == UnknownText}
	for _, f := range s.Fields {
		if hasStar(f.Name) {
			c.families = append(c.families, f)
		} else {
			c.types[f.Name] = f.Type
		}
	}
	return c
}

// Find tells what is known of a column, and its type.
func (c *Columns) Find(name string) (Presence, Type) {
	if t, ok := c.types[name]; ok {
		return Certain, t
	}
	if c.chosen || c.gone[name] || name == "" {
		return Impossible, ""
	}
	if i := slices.IndexFunc(c.families, func(f Field) bool { return starFits(f.Name, name) }); i >= 0 {
		return Family, c.families[i].Type
	}
	if c.open {
		return Undeclared, Text
	}
	return Impossible, ""
}

// Names gives the columns that are known by name, families with their star, sorted.
func (c *Columns) Names() []string {
	names := slices.Collect(maps.Keys(c.types))
	if !c.chosen {
		for _, f := range c.families {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Apply takes one step of finalize. A column that a step names is there afterwards, whether a row has it or not. The error
// tells of two columns that would have one name.
func (c *Columns) Apply(op Operation) error {
	switch {
	case len(op.Rename) > 0:
		return c.rename(op.Rename)
	case len(op.Add) > 0:
		for name := range sorted(op.Add) {
			if _, there := c.types[name]; there {
				return fmt.Errorf("add: there is a column %q already; drop or rename it first", name)
			}
			c.types[name] = Text
		}
	case len(op.Select) > 0:
		chosen := make(map[string]Type, len(op.Select))
		for _, name := range op.Select {
			if presence, t := c.Find(name); presence != Impossible {
				chosen[name] = t
			}
		}
		c.types, c.chosen = chosen, true
	}
	for _, name := range op.Drop {
		delete(c.types, name)
		c.gone[name] = true
	}
	for name, t := range op.Cast {
		if presence, _ := c.Find(name); presence != Impossible {
			c.types[name] = t
		}
	}
	return nil
}

func (c *Columns) rename(names map[string]string) error {
	was := maps.Clone(c.types)
	for old := range names {
		delete(was, old)
	}
	for old, name := range sorted(names) {
		presence, t := c.Find(old)
		if presence == Impossible {
			continue
		}
		_, twice := was[name]
		if twice && presence == Certain {
			return fmt.Errorf("rename: two columns would be %q; drop one first", name)
		}
		if !twice {
			was[name] = t
		}
	}
	for old := range names {
		c.gone[old] = true
	}
	c.types = was
	return nil
}
