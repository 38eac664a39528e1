package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const rowsPath = queryPath + "/rows"

type rowsInput struct {
	One
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many rows"`
}

type rowsOutput struct{ Body *messages.Preview }

func (a *api) routeRows() {
	huma.Register(a.huma, a.operation("preview-rows", http.MethodGet, rowsPath, "Show the first rows that are stored of a query, without making its table"), a.rows)
}

func (a *api) rows(ctx context.Context, in *rowsInput) (*rowsOutput, error) {
	preview, err := view(a, &in.One, "preview rows", func(id string) (*messages.Preview, error) {
		return a.ports.Views.Preview(ctx, id, in.Limit)
	})
	if err != nil {
		return nil, err
	}
	return &rowsOutput{preview}, nil
}
