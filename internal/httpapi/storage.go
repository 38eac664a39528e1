package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/strictyaml"
)

const (
	verifyPath  = queryPath + "/verify"
	garbagePath = "/v1/gc"
)

type verificationOutput struct{ Body *messages.Verification }

type garbageInput struct {
	OlderThan   string `query:"older_than" maxLength:"40" doc:"Age, such as 30d, from which on queries that have ended are removed; without it none is"`
	Interrupted bool   `query:"interrupted" doc:"true: with older_than, remove queries too that were interrupted, and could be resumed"`
	DryRun      bool   `query:"dry_run" doc:"true: tell what would be removed, and remove nothing"`
}

type garbageOutput struct{ Body *messages.Garbage }

func (a *api) routeStorage() {
	huma.Register(a.huma, a.operation("check-query", http.MethodGet, verifyPath,
		"Read every stored result of a query, check it against its digest, and change nothing"), func(ctx context.Context, in *One) (*verificationOutput, error) {
		return a.verify(ctx, in, false)
	})
	huma.Register(a.huma, a.operation("verify-query", http.MethodPost, verifyPath,
		"Check every stored result of a query; what is lost is pending again, and the query interrupted"), func(ctx context.Context, in *One) (*verificationOutput, error) {
		return a.verify(ctx, in, true)
	})
	huma.Register(a.huma, a.operation("collect-garbage", http.MethodPost, garbagePath, "Remove what nothing needs any more"), a.collect)
}

func (a *api) verify(ctx context.Context, in *One, reopen bool) (*verificationOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("verify query", err)
	}
	if reopen {
		if id, err = a.changeable(ctx, id, anybodys); err != nil {
			return nil, a.failure("verify query", err)
		}
	}
	turn := a.readTurn
	if reopen {
		turn = a.commandTurn
	}
	done, err := turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	verification, err := a.ports.Commands.Verify(ctx, id, reopen)
	if err != nil {
		return nil, a.failure("verify query", err)
	}
	return &verificationOutput{verification}, nil
}

func (a *api) collect(ctx context.Context, in *garbageInput) (*garbageOutput, error) {
	var age time.Duration
	if in.OlderThan != "" {
		var err error
		if age, err = strictyaml.ParseDuration(in.OlderThan); err != nil || age <= 0 {
			return nil, a.failure("collect garbage", fmt.Errorf("%w: older_than: %.40q is no age; write it as 30d or 12h", query.ErrInvalid, in.OlderThan))
		}
	}
	if in.Interrupted && age == 0 {
		return nil, a.failure("collect garbage", fmt.Errorf("%w: interrupted goes with older_than", query.ErrInvalid))
	}
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	garbage, err := a.ports.Commands.Collect(ctx, messages.GarbageOptions{OlderThan: age, Interrupted: in.Interrupted, DryRun: in.DryRun})
	if err != nil {
		return nil, a.failure("collect garbage", err)
	}
	return &garbageOutput{garbage}, nil
}
