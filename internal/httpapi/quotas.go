package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const quotasPath = "/v1/quotas"

type quotasOutput struct{ Body *messages.QuotaList }

func (a *api) routeQuotas() {
	huma.Register(a.huma, a.operation("list-quotas", http.MethodGet, quotasPath, "Tell how the quota pools stand that queries have spent"), a.quotas)
}

func (a *api) quotas(ctx context.Context, _ *struct{}) (*quotasOutput, error) {
	list, err := a.ports.Views.Quotas(ctx)
	if err != nil {
		return nil, a.failure("list quotas", err)
	}
	return &quotasOutput{list}, nil
}
