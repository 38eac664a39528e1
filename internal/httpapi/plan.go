package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

const planPath = "/v1/plan"

type planOutput struct{ Body *messages.PlanSummary }

func (a *api) routePlan() {
	huma.Register(a.huma, a.operation("plan-query", http.MethodPost, planPath, "Plan a query, and neither store nor send anything"), a.plan)
	describeBody[query.Spec](a, planPath, true)
}

func (a *api) plan(ctx context.Context, in *struct{ Payload }) (*planOutput, error) {
	spec, err := in.spec(ctx, a)
	if err != nil {
		return nil, a.failure("plan", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	summary, err := a.ports.Views.Plan(ctx, spec)
	if err != nil {
		return nil, a.failure("plan", err)
	}
	return &planOutput{summary}, nil
}
