package planner

import "github.com/braidhq/braid/pkg/service"

// parameters are those that a collection declares.
type parameters []service.Parameter

// named finds a parameter by the name under which it is declared.
func (p parameters) named(name string) *service.Parameter {
	for i := range p {
		if p[i].Name == name {
			return &p[i]
		}
	}
	return &service.Parameter{}
}

// given finds the values of a parameter, and the name under which the query gives them: its own or another one that is declared
// for it. Values that the query does not give are the default ones.
func (p parameters) given(values service.Values, param string) (name string, own []string) {
	if own, ok := values[param]; ok {
		return param, own
	}
	declared := p.named(param)
	for _, alias := range declared.Aliases {
		if own, ok := values[alias]; ok {
			return alias, own
		}
	}
	return param, declared.Default
}
