package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

type kindInput struct {
	Slug string `path:"slug" doc:"The last part of a problem's type"`
}

type kindOutput struct{ Body contract.Kind }

// routeProblems makes the types of problems addresses that tell what the kind means and what to do.
func (a *api) routeProblems() {
	huma.Register(a.huma, a.operation("explain-problem", http.MethodGet, contract.TypePath+"{slug}", "Explain a kind of problem"), a.explain)
}

func (*api) explain(_ context.Context, in *kindInput) (*kindOutput, error) {
	kind := contract.KindNamed(in.Slug)
	if kind.Slug == "" {
		return nil, problem(contract.NoRoute, "no kind of problem is called %.40q", in.Slug)
	}
	return &kindOutput{kind}, nil
}
