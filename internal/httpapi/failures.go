package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const failuresPath = queryPath + "/failures"

type failuresOutput struct{ Body *messages.Failures }

func (a *api) routeFailures() {
	list := a.operation("list-failures", http.MethodGet, failuresPath, "List the chunks of a query that have failed, with what they ask for")
	huma.Register(a.huma, list, a.failures)
}

func (a *api) failures(ctx context.Context, in *One) (*failuresOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("failures", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	failures, err := a.ports.Views.Failures(ctx, id)
	if err != nil {
		return nil, a.failure("failures", err)
	}
	return &failuresOutput{failures}, nil
}
