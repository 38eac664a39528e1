package coordinator

import (
	"maps"
	"strings"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// describe says what a chunk asks for, with intervals as they are written in a query.
func (p *pinned) describe(chunk planner.Chunk) string {
	values := maps.Clone(chunk.Values)
	for _, param := range p.collection.Parameters() {
		if ends := values[param.Name]; param.Type == service.TypeInterval && len(ends) == 2 {
			values[param.Name] = []string{strings.Join(ends, "/")}
		}
	}
	return planner.Describe(planner.Chunk{Values: values})
}
