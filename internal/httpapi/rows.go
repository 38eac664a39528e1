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
	id, err := in.id()
	if err != nil {
		return nil, a.failure("preview rows", err)
	}
	preview, err := a.ports.Views.Preview(ctx, id, in.Limit)
	if err != nil {
		return nil, a.viewFailure("preview rows", err)
	}
	return &rowsOutput{preview}, nil
}
