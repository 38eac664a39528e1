package planner

import (
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// parameter finds a parameter by the name under which it is declared.
func parameter(c *service.Collection, name string) (service.Parameter, bool) {
	params := c.Parameters()
	i := slices.IndexFunc(params, func(p service.Parameter) bool { return p.Name == name })
	if i < 0 {
		return service.Parameter{}, false
	}
	return params[i], true
}

// given finds the values of a parameter, and the name under which the query gives them: its own or another one that is declared
// for it. Values that the query does not give are the default ones.
func given(c *service.Collection, values service.Values, param string) (name string, own []string) {
	p, _ := parameter(c, param)
	for _, name := range append([]string{param}, p.Aliases...) {
		if own, ok := values[name]; ok {
			return name, own
		}
	}
	return param, p.Default
}
