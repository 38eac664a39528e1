package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// failure translates what went wrong into a problem. The text of an error that no kind stands for goes to the log alone:
// nobody has judged whether it may be shown.
func (a *api) failure(what string, err error) *contract.Problem {
	if p, ok := errors.AsType[*contract.Problem](err); ok {
		return p
	}
	if p := contract.NewLoadProblem(err); p != nil {
		return p
	}
	kind := contract.KindOf(err)
	switch {
	case kind.Slug != contract.Internal:
		return contract.NewProblem(kind, err.Error(), fieldErrors(err)...)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(contract.Timeout, "%s: not done in time", what)
	}
	a.log.Error("request failed", "doing", what, "error", err)
	return problem(contract.Internal, "%s: unexpected error; the coordinator's log tells more", what)
}

// fieldErrors finds what err says about single fields, in its order.
func fieldErrors(err error) []contract.FieldError {
	var fields []contract.FieldError
	var walk func(error)
	walk = func(err error) {
		if err == nil || len(fields) >= contract.MaxFieldErrors {
			return
		}
		if field, ok := fieldError(err); ok {
			fields = append(fields, field)
			return
		}
		switch err := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
		case interface{ Unwrap() error }:
			walk(err.Unwrap())
		case interface{ Unwrap() []error }:
			for _, wrapped := range err.Unwrap() {
				walk(wrapped)
			}
		}
	}
	walk(err)
	return fields
}

// fieldError reads one error of a tree, without what it wraps.
func fieldError(err error) (contract.FieldError, bool) {
	switch err := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case *service.ValueError:
		return contract.FieldError{Location: "values." + err.Parameter, Message: err.Message}, true
	case *strictyaml.Error:
		return contract.FieldError{Location: err.Path, Line: err.Line, Message: err.Message}, err.Path != "" || err.Line > 0
	case *json.UnmarshalTypeError:
		return contract.FieldError{Location: err.Field, Message: "it is a JSON " + err.Value + ", want " + err.Type.String()}, err.Field != ""
	}
	// A problem of a spec says its field in front of the sentinel's text.
	location, message, ok := strings.Cut(err.Error(), ": "+query.ErrSpec.Error()+": ")
	return contract.FieldError{Location: location, Message: message}, ok && ofSpec(err) && !strings.Contains(location, " ")
}

// ofSpec tells whether err itself, not one that it wraps, is a problem of a spec.
func ofSpec(err error) bool {
	switch err := err.(type) { //nolint:errorlint // only the error itself is asked
	case interface{ Unwrap() error }:
		return err.Unwrap() == query.ErrSpec //nolint:errorlint // likewise
	case interface{ Unwrap() []error }:
		return slices.Contains(err.Unwrap(), query.ErrSpec)
	}
	return false
}

// ownProblem replaces the problems that the library makes of parameters it refuses, and tells in each how the log calls the request.
func ownProblem(ctx huma.Context, _ string, answer any) (any, error) {
	switch answer := answer.(type) {
	case *contract.Problem:
		return named(ctx.Context(), answer), nil
	case *huma.ErrorModel:
		return named(ctx.Context(), ofParameters(answer)), nil
	}
	return answer, nil
}

// named is a problem that tells how the log calls the request.
func named(ctx context.Context, p *contract.Problem) *contract.Problem {
	copied := *p
	copied.RequestID = visitOf(ctx).requestID
	return &copied
}

func ofParameters(theirs *huma.ErrorModel) *contract.Problem {
	kind := contract.KindNamed(contract.Internal)
	if theirs.Status < http.StatusInternalServerError {
		kind = contract.KindNamed(contract.RequestInvalid)
	}
	var fields []contract.FieldError
	details := []string{theirs.Detail}
	for _, e := range theirs.Errors {
		fields = append(fields, contract.FieldError{Location: e.Location, Message: e.Message})
		details = append(details, e.Location+": "+e.Message)
	}
	return contract.NewProblem(kind, strings.Join(details, "; "), fields...)
}

// writeProblem answers outside of the library's routes.
func writeProblem(w http.ResponseWriter, p *contract.Problem) {
	copied := *p
	copied.RequestID = w.Header().Get(requestIDHeader)
	body, err := json.Marshal(copied)
	if err != nil {
		panic(err) // it holds nothing but texts and a number
	}
	w.Header().Set("Content-Type", contract.ProblemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the reader is gone
}
