package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/planner/matrix"
)

// CheckRoles reports each role of the profile that the environment does not have: not one request could be sent as it. Each error wraps ErrProfile and
// names the key. An environment of which no role is known has them all.
func (p *Profile) CheckRoles(e Environment) error {
	if len(e.Roles) == 0 {
		return nil
	}
	names := make([]string, len(e.Roles))
	for i, role := range e.Roles {
		names[i] = role.Name
	}
	var errs []error
	check := func(role string, path ...any) {
		if role != "" && !slices.Contains(names, role) {
			errs = append(errs, problem{path: path, message: fmt.Sprintf(
				"the environment %s has no role %.100q; its roles are %.500s: name one of them, or add it to environment.roles of the service definition",
				e.Name, role, strings.Join(names, ", "))})
		}
	}
	if axes, err := matrix.Parse(p.Axes); err == nil { // else Validate tells
		for _, role := range axes.Roles() {
			check(role, "axes", "role")
		}
	}
	for i, t := range p.Thresholds {
		check(t.Role, "thresholds", i, "role")
	}
	return errors.Join(errs...)
}
