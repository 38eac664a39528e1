package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/messages"
)

const gridPath = queryPath + "/grid"

type gridInput struct {
	One
	From        int    `query:"from" minimum:"0" doc:"The first position that is shown"`
	To          int    `query:"to" minimum:"0" doc:"The position behind the last one that is shown; without it, or 0, the plan's end"`
	Bins        int    `query:"bins" minimum:"1" maximum:"4096" default:"2000" doc:"Positions are counted in at most so many bins of equal width"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an answer that is there already"`
}

type gridOutput struct {
	Status int
	ETag   string `header:"ETag" doc:"Weak: equal ones are equal numbers"`
	Body   *messages.Grid
}

func (a *api) routeGrid() {
	op := a.operation("show-grid", http.MethodGet, gridPath, "Count where the positions of a query's plan stand")
	op.Responses["304"] = &huma.Response{Description: "The grid is the one whose ETag was given"}
	huma.Register(a.huma, op, a.grid)
}

func (a *api) grid(ctx context.Context, in *gridInput) (*gridOutput, error) {
	grid, err := view(a, &in.One, "grid", func(id string) (*messages.Grid, error) {
		return a.ports.Views.Grid(ctx, id, in.From, in.To, in.Bins)
	})
	if err != nil {
		return nil, err
	}
	etag, err := weakETag(grid)
	if err != nil {
		return nil, a.failure("grid", err)
	}
	if matches(in.IfNoneMatch, etag) {
		return &gridOutput{Status: http.StatusNotModified, ETag: etag}, nil
	}
	return &gridOutput{Status: http.StatusOK, ETag: etag, Body: grid}, nil
}

// weakETag tells answers of a view apart.
func weakETag(view any) (string, error) {
	text, err := json.Marshal(view)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`, nil
}

// matches compares weakly (RFC 9110, 13.1.2). Our tags have no comma in them.
func matches(ifNoneMatch, etag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
