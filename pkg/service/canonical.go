package service

import "slices"

// Canonical gives the values as they are sent, so that two queries that ask for the same in other spellings have one plan: each
// parameter under the name that it is declared with, its values in the spelling that the service takes, columns that are
// never sent left out, and values that then stand twice dropped. The values were checked by CheckValues; a wrong one stays
// as it is. The lists are those of v where nothing changes.
func (c *Collection) Canonical(v Values) Values {
	canonical := make(Values, len(v))
	for name, values := range v {
		if _, known := c.names[name]; !known {
			canonical[name] = values
		}
	}
	for i := range c.params {
		param := &c.params[i]
		values, given := param.given(v)
		if !given {
			continue
		}
		if list := param.canonicalList(values); len(list) > 0 || len(values) == 0 {
			canonical[param.Name] = list
		}
	}
	return canonical
}

func (p *Parameter) canonicalList(values []string) []string {
	if p.Type == TypeInterval {
		if interval, err := ParseInterval(p.Of, values); err == nil {
			return interval.Values()
		}
		return values
	}
	if !p.spelled() {
		return values
	}
	seen := make(map[string]bool, len(values))
	list := make([]string, 0, len(values))
	for _, value := range values {
		value = p.canonical(value)
		if !seen[value] && !slices.Contains(p.Omit, value) {
			seen[value] = true
			list = append(list, value)
		}
	}
	return list
}

// sentList is canonicalList for a request: values that stand twice are the caller's affair. It gives values themselves when
// nothing changes.
func (p *Parameter) sentList(values []string) []string {
	if !p.spelled() {
		return values
	}
	list := make([]string, 0, len(values))
	for _, value := range values {
		if value = p.canonical(value); !slices.Contains(p.Omit, value) {
			list = append(list, value)
		}
	}
	return list
}
