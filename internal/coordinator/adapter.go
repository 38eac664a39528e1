package coordinator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// Adapter is what a compiled-in adapter does on the side of the coordinator. Its functions are pure: a query is planned and
// shaped again by whoever takes it over. They are called concurrently.
type Adapter struct {
	Plan     planner.Planner                           // nil: the axes of the definition
	Finalize func(collection string) []frame.Operation // after the definition's own; nil: nothing
}

// adapterOf finds the adapter that a definition names. The error wraps query.ErrInvalid when this program does not have it.
func adapterOf(d *service.Definition, adapters map[string]Adapter) (Adapter, error) {
	name := d.Adapter
	if name == "" {
		return Adapter{}, nil
	}
	if adapter, have := adapters[name]; have {
		return adapter, nil
	}
	known := "it has none"
	if len(adapters) > 0 {
		known = "it has " + strings.Join(slices.Sorted(maps.Keys(adapters)), ", ")
	}
	return Adapter{}, fmt.Errorf("%w: the service %s is spoken to by the adapter %q, which %w (%s); use a coordinator and workers that have it",
		query.ErrInvalid, d.Name, name, errNotCompiled, known)
}

var errNotCompiled = errors.New("is not compiled into this program")
