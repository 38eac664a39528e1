package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

// Health is the answer of a process that is well.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

type healthOutput struct{ Body Health }

func (a *api) routeHealth() {
	huma.Register(a.huma, a.operation("health", http.MethodGet, "/healthz", "Tell that the process answers"), a.health)
	huma.Register(a.huma, a.operation("ready", http.MethodGet, "/readyz", "Tell whether commands can be carried out"), a.ready)
}

func (*api) health(context.Context, *struct{}) (*healthOutput, error) {
	return &healthOutput{Health{Status: "ok"}}, nil
}

func (a *api) ready(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	err := a.ports.Views.Ready(ctx)
	if err == nil {
		return a.health(ctx, nil)
	}
	failure := a.failure("tell readiness", err)
	if failure.Status != http.StatusServiceUnavailable {
		failure = problem(contract.NotReady, "not ready: %s", failure.Detail)
	}
	return nil, failure
}
