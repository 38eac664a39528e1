package planner

import (
	"fmt"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

// mostIn is how many values a piece of an axis may have, whatever its bytes.
func (d *division) mostIn(a *axis) int {
	if limit := d.collection.Limits.Values; limit > 0 && a.kind == service.AxisPack {
		return min(limit, len(a.values))
	}
	return len(a.values)
}

// holdsTooMany tells whether a request has more values on an axis than the service takes.
func (d *division) holdsTooMany(with service.Values) bool {
	return slices.ContainsFunc(d.packs(), func(a *axis) bool {
		return a.kind == service.AxisPack && len(with[a.param]) > d.mostIn(a)
	})
}

// checkLists refuses lists that travel whole in every request and have more values than the service takes.
func (d *division) checkLists() error {
	limit := d.collection.Limits.Values
	if limit == 0 {
		return nil
	}
	for _, p := range d.params {
		name, values := d.params.given(d.values, p.Name)
		n := len(values)
		isList := p.Many != "" && p.Type != service.TypeColumns
		onAxis := slices.ContainsFunc(d.grid.axes, func(a *axis) bool { return a.param == name })
		if !isList || onAxis || n <= limit {
			continue
		}
		return fmt.Errorf("%w: it has %d values of %s, the service takes %d, and the service definition has no axis that divides them; ask for fewer at a time",
			ErrUnsplittable, n, name, limit)
	}
	return nil
}
