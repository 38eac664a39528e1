package braid

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// Adapter speaks to a service in a way that no definition can describe: it logs in, signs, orders a report and fetches it. A
// definition asks for it by name (adapter: NAME), and still says the parameters, the limits, the fields and the key. What
// docs/adapters.md says of each part holds; none of them keeps state between calls, and all are called concurrently.
type Adapter struct {
	// Fetch sends one request at a time, on the workers. Its tasks are read by service.DecodeTask.
	Fetch service.Adapter
	// Plan divides a query, on the coordinator; nil: the axes of the definition do. It is a pure function, because whoever
	// takes a query over plans it again. If it is also a planner.Splitter, it divides chunks that the service refuses as
	// too large.
	Plan planner.Planner
	// Finalize gives what is done to the table after the definition's own finalize; nil: nothing. It is a pure function.
	Finalize func(collection string) []frame.Operation
}

// checkAdapters reports the first adapter that cannot be used.
func checkAdapters(adapters map[string]Adapter) error {
	for _, name := range slices.Sorted(maps.Keys(adapters)) {
		if err := messages.CheckName(name); err != nil {
			return fmt.Errorf("the name of an adapter: %w", err)
		}
		if adapters[name].Fetch == nil {
			return fmt.Errorf("the adapter %s has no Fetch", name)
		}
	}
	return nil
}

// planning is what a coordinator needs of adapters.
func planning(adapters map[string]Adapter) map[string]coordinator.Adapter {
	parts := make(map[string]coordinator.Adapter, len(adapters)+1)
	parts[service.AdapterSuperset] = coordinator.Adapter{} // compiled into all programs; the definition says all that planning needs
	for name, a := range adapters {
		parts[name] = coordinator.Adapter{Plan: a.Plan, Finalize: a.Finalize}
	}
	return parts
}

// fetchers are the adapters of a worker, by their names or by those of services.
type fetchers map[string]service.Adapter

func newFetchers(byEither map[string]service.Adapter, named map[string]Adapter) fetchers {
	all := make(fetchers, len(byEither)+len(named))
	maps.Copy(all, byEither)
	for name, a := range named {
		all[name] = a.Fetch
	}
	return all
}

// find gives the adapter of a service's items, nil when their requests are declared. have is false when the service is
// spoken to by an adapter that is not here.
func (f fetchers) find(service, adapter string) (found service.Adapter, have bool) {
	if a := f[adapter]; a != nil && adapter != "" {
		return a, true
	}
	return f[service], adapter == "" || f[service] != nil
}

// spokenTo is the shared records without the services that are spoken to by adapters which this worker does not have: it
// leaves their items to other workers.
type spokenTo struct {
	worker.Records
	fetchers fetchers
	log      *slog.Logger
}

// WatchServices is worker.Records'.
func (s spokenTo) WatchServices(ctx context.Context, on func(*messages.Service, error)) error {
	var mu sync.Mutex
	told := map[string]bool{}
	return s.Records.WatchServices(ctx, func(svc *messages.Service, err error) {
		if err != nil {
			on(svc, err)
			return
		}
		if _, have := s.fetchers.find(svc.Name, svc.Adapter); have || svc.Adapter == service.AdapterSuperset {
			on(svc, nil)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !told[svc.Name] {
			told[svc.Name] = true
			s.log.Warn("items of a service are left to other workers: the adapter that speaks to it is not compiled into this one", "service", svc.Name, "adapter", svc.Adapter)
		}
	})
}
