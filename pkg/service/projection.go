package service

import "slices"

// Project gives the values with the columns that a service is asked for, where it lets a request name them (a parameter of
// the type columns): those that the query selects or names itself, and those that the table cannot be made without, as
// its key and what it is sorted by. Without a selection, and where columns are read from places that cannot be named, the
// values stay as they are.
func (c *Collection) Project(v Values, selected []string) Values {
	i := slices.IndexFunc(c.params, func(p Parameter) bool { return p.Type == TypeColumns })
	if i < 0 {
		return v
	}
	param := &c.params[i]
	named, given := param.given(v)
	wanted := append(slices.Clone(selected), param.sentList(named)...)
	if len(wanted) == 0 {
		return v
	}
	columns, ok := c.stored(wanted)
	if !ok {
		return v
	}
	projected := make(Values, len(v)+1)
	for name, values := range v {
		if name != param.Name && !slices.Contains(param.Aliases, name) {
			projected[name] = values
		}
	}
	if columns = param.sentList(columns); len(columns) > 0 {
		projected[param.Name] = columns
	} else if given {
		projected[param.Name] = named
	}
	return projected
}

// stored gives the members of a row that columns of the finished table, and the finishing itself, are made of: declared ones
// in the order of the fields, then others. ok is false when one of them is not a member of the row.
func (c *Collection) stored(wanted []string) (columns []string, ok bool) {
	need := make(map[string]bool)
	add := func(names ...string) {
		for _, name := range names {
			need[name] = true
		}
	}
	add(wanted...)
	for _, step := range slices.Backward(c.shape.Finalize) {
		for name := range step.Add {
			delete(need, name)
		}
		for old, renamed := range step.Rename {
			if need[renamed] {
				delete(need, renamed)
				need[old] = true
			}
		}
		for name := range step.Filter {
			add(name)
		}
		add(step.Sort...)
	}
	add(c.shape.Key...)
	if c.shape.NewestBy != "" {
		add(c.shape.NewestBy)
	}
	for _, field := range c.rows.from {
		if need[field.name] && (c.rows.take == "" || field.path.steps[0].name == c.rows.take) {
			return nil, false
		}
		delete(need, field.name)
	}
	for _, field := range c.shape.Fields {
		if need[field.Name] {
			columns = append(columns, field.Name)
			delete(need, field.Name)
		}
	}
	for _, name := range wanted {
		if need[name] {
			columns = append(columns, name)
			delete(need, name)
		}
	}
	return columns, true
}

// AsksForColumns tells whether requests name the columns that are wanted.
func (c *Collection) AsksForColumns() bool {
	return slices.ContainsFunc(c.params, func(p Parameter) bool { return p.Type == TypeColumns })
}
