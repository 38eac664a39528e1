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
	series, err := view(a, &in.One, "series", func(id string) (*messages.Series, error) {
		return a.ports.Views.Series(ctx, id, in.Points)
	})
	if err != nil {
		return nil, err
	}
	return &seriesOutput{series}, nil
}
