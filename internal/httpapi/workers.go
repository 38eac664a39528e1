package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const workersPath = "/v1/workers"

type workersOutput struct{ Body *messages.WorkerList }

func (a *api) routeWorkers() {
	huma.Register(a.huma, a.operation("list-workers", http.MethodGet, workersPath, "List the workers that are there"), a.workers)
}

func (a *api) workers(ctx context.Context, _ *struct{}) (*workersOutput, error) {
	list, err := a.ports.Views.Workers(ctx)
	if err != nil {
		return nil, a.failure("list workers", err)
	}
	return &workersOutput{list}, nil
}
