package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const seriesPath = queryPath + "/series"

type seriesInput struct {
	One
	Points int `query:"points" minimum:"1" maximum:"1000" default:"240" doc:"At most so many steps of time"`
}

type seriesOutput struct{ Body *messages.Series }

func (a *api) routeSeries() {
	huma.Register(a.huma, a.operation("show-series", http.MethodGet, seriesPath, "Tell how a query went over time: requests, rows, latency, interruptions"), a.series)
}

func (a *api) series(ctx context.Context, in *seriesInput) (*seriesOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("series", err)
	}
	series, err := a.ports.Views.Series(ctx, id, in.Points)
	if err != nil {
		return nil, a.viewFailure("series", err)
	}
	return &seriesOutput{series}, nil
}
