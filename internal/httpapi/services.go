package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	servicesPath = "/v1/services"
	servicePath  = servicesPath + "/{name}"
)

type servicesOutput struct{ Body *messages.ServiceList }

type serviceInput struct {
	Name string `path:"name" doc:"Name of the service"`
}

type serviceOutput struct{ Body *messages.ServiceView }

func (a *api) routeServices() {
	huma.Register(a.huma, a.operation("list-services", http.MethodGet, servicesPath,
		"Tell how each service stands: slots and who holds them, the gate, quota pools, queries"), a.services)
	huma.Register(a.huma, a.operation("show-service", http.MethodGet, servicePath, "Tell how one service stands"), a.service)
}

func (a *api) services(ctx context.Context, _ *struct{}) (*servicesOutput, error) {
	list, err := a.ports.Views.Services(ctx)
	if err != nil {
		return nil, a.failure("list services", err)
	}
	return &servicesOutput{list}, nil
}

func (a *api) service(ctx context.Context, in *serviceInput) (*serviceOutput, error) {
	if messages.CheckName(in.Name) != nil {
		return nil, a.failure("show service", fmt.Errorf("service %.40q: %w", in.Name, messages.ErrNotFound))
	}
	view, err := a.ports.Views.Service(ctx, in.Name)
	if err != nil {
		return nil, a.failure("show service", err)
	}
	return &serviceOutput{view}, nil
}
