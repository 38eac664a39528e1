package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

const (
	queriesPath = "/v1/queries"
	queryPath   = queriesPath + "/{id}"
	resumePath  = queryPath + "/resume"
	cancelPath  = queryPath + "/cancel"
	coverPath   = queryPath + "/coverage"
	provePath   = queryPath + "/manifest"
)

// One is the input of a route that names a query.
type One struct {
	ID string `path:"id" doc:"Id of the query, or its first letters; latest is the newest query"`
}

// id gives the id as the ports take it. What cannot be an id is not found, without asking anybody.
func (o One) id() (string, error) {
	if o.ID == contract.Latest {
		return "", nil
	}
	if err := messages.CheckName(o.ID); err != nil {
		return "", fmt.Errorf("query %.40q: %w", o.ID, messages.ErrNotFound)
	}
	return o.ID, nil
}

type resumeInput struct {
	One
	Payload
}

type submitInput struct {
	Payload
	Key string `header:"Idempotency-Key" maxLength:"514" doc:"1 to 255 visible ASCII characters, such as a UUID, in quotes or without: what is sent again under the same key is the same query, and not another one"`
}

type submitOutput struct {
	Status   int
	Location string `header:"Location" doc:"Where the query is"`
	Body     *messages.Query
}

type queryOutput struct {
	Location string `header:"Location" doc:"Where the query is"`
	Body     *messages.Query
}

type coverageOutput struct{ Body *messages.Coverage }

type manifestOutput struct{ Body *messages.Manifest }

type statusOutput struct{ Body *messages.Status }

func (a *api) routeQueries() {
	submit := a.operation("submit-query", http.MethodPost, queriesPath, "Plan a query, store it and start it")
	submit.DefaultStatus = http.StatusCreated
	submit.Responses["200"] = &huma.Response{Description: "The query that was submitted before under the same Idempotency-Key", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[messages.Query](a)},
	}}
	huma.Register(a.huma, submit, a.submit)
	describeBody[query.Spec](a, queriesPath, true)
	huma.Register(a.huma, a.operation("list-queries", http.MethodGet, queriesPath, "List queries, the newest first"), a.list)
	huma.Register(a.huma, a.operation("show-query", http.MethodGet, queryPath, "Show where a query stands"), a.show)
	huma.Register(a.huma, a.operation("cover-query", http.MethodGet, coverPath, "Tell what came of each value that a query asks for"), a.cover)
	huma.Register(a.huma, a.operation("prove-query", http.MethodGet, provePath, "Prove a query's table: what was asked, each request that brought rows, and their digests"), a.prove)
	a.routeFailures()
	huma.Register(a.huma, a.operation("remove-query", http.MethodDelete, queryPath, "Remove a query that is not active, with its results"), a.remove)
	huma.Register(a.huma, a.operation("resume-query", http.MethodPost, resumePath, "Run again what has no result, or only what has failed"), a.resume)
	describeBody[contract.Resume](a, resumePath, false)
	huma.Register(a.huma, a.operation("cancel-query", http.MethodPost, cancelPath, "Stop a query; completed work is kept"), a.cancel)
}

func (a *api) submit(ctx context.Context, in *submitInput) (*submitOutput, error) {
	key, err := idempotencyKey(in.request.Header)
	if err != nil {
		return nil, err
	}
	spec, err := in.spec(ctx, a)
	if err != nil {
		return nil, a.failure("submit", err)
	}
	by := submissionOf(ctx)
	by.Key = keyDigest(by.Owner, key)
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	q, err := a.ports.Commands.SubmitAs(ctx, spec, by)
	out := &submitOutput{Status: http.StatusCreated}
	if q != nil && errors.Is(err, query.ErrRepeated) {
		out.Status, err = http.StatusOK, nil
	}
	if err != nil {
		return nil, a.failure("submit", err)
	}
	visitOf(ctx).query = q.ID
	out.Location, out.Body = queriesPath+"/"+q.ID, q
	return out, nil
}

func (a *api) show(ctx context.Context, in *One) (*statusOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("show query", err)
	}
	status, err := a.ports.Views.Status(ctx, id)
	if err != nil {
		return nil, a.failure("show query", err)
	}
	return &statusOutput{status}, nil
}

func (a *api) cover(ctx context.Context, in *One) (*coverageOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("coverage", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	coverage, err := a.ports.Views.Coverage(ctx, id)
	if err != nil {
		return nil, a.failure("coverage", err)
	}
	return &coverageOutput{coverage}, nil
}

func (a *api) prove(ctx context.Context, in *One) (*manifestOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("manifest", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	manifest, err := a.ports.Views.Manifest(ctx, id)
	if err != nil {
		return nil, a.failure("manifest", err)
	}
	return &manifestOutput{manifest}, nil
}

func (a *api) remove(ctx context.Context, in *One) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("remove query", err)
	}
	if id, err = a.changeable(ctx, id, (*access.Principal).MayRemove); err != nil {
		return nil, a.failure("remove query", err)
	}
	if err := a.ports.Commands.Remove(ctx, id); err != nil {
		return nil, a.failure("remove query", err)
	}
	return nil, nil
}

func (a *api) resume(ctx context.Context, in *resumeInput) (*queryOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("resume query", err)
	}
	data, err := in.read(ctx, a, contract.MaxResumeBytes)
	if err != nil {
		return nil, a.failure("resume query", err)
	}
	if err := screened[contract.Resume](data, contract.RequestInvalid); err != nil {
		return nil, err
	}
	body, err := contract.DecodeResume(data)
	if err != nil {
		return nil, contract.NewProblem(contract.KindNamed(contract.RequestInvalid), err.Error(), fieldErrors(err)...)
	}
	if id, err = a.changeable(ctx, id, (*access.Principal).MayControl); err != nil {
		return nil, a.failure("resume query", err)
	}
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	run := a.ports.Commands.Resume
	if body.Failed {
		run = a.ports.Commands.Retry
	}
	q, err := run(ctx, id, body.Resumption())
	return a.changed(ctx, "resume query", q, err)
}

func (a *api) cancel(ctx context.Context, in *One) (*queryOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("cancel query", err)
	}
	if id, err = a.changeable(ctx, id, (*access.Principal).MayControl); err != nil {
		return nil, a.failure("cancel query", err)
	}
	q, err := a.ports.Commands.Cancel(ctx, id)
	return a.changed(ctx, "cancel query", q, err)
}

func (a *api) changed(ctx context.Context, what string, q *messages.Query, err error) (*queryOutput, error) {
	if err != nil {
		return nil, a.failure(what, err)
	}
	visitOf(ctx).query = q.ID
	return &queryOutput{Location: queriesPath + "/" + q.ID, Body: q}, nil
}

// spec reads the body as a query. An error is a problem, or wraps query.ErrInvalid.
func (b *Payload) spec(ctx context.Context, a *api) (*query.Spec, error) {
	data, err := b.read(ctx, a, query.MaxSpecBytes)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: the body is empty", query.ErrInvalid)
	}
	if err := screened[query.Spec](data, contract.QueryInvalid); err != nil {
		return nil, err
	}
	spec, err := query.DecodeSpec(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	return spec, nil
}
