package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// placedError is an error of planning or of a server, told at the places of the query that it is about.
type placedError struct {
	problems problems
	cause    error
}

func (e *placedError) Error() string { return e.problems.err().Error() }
func (e *placedError) Unwrap() error { return e.cause }

// place finds the places of what err says about the query. Any other error stays as it is.
func (p *prepared) place(err error) error {
	if err == nil {
		return nil
	}
	placed := &placedError{cause: err}
	var unsplittable *planner.UnsplittableError
	var values service.ValueErrors
	var value *service.ValueError
	var server *braid.ServerError
	switch {
	case errors.As(err, &unsplittable):
		place := p.query.PlaceOf("where")
		if unsplittable.Parameter != "" {
			place = p.query.PlaceOfValue(p.resolved, unsplittable.Parameter, unsplittable.Value)
		}
		placed.problems.add(place.Problem("%s", unsplittable.Error()))
	case errors.Is(err, planner.ErrTooMany):
		placed.problems.add(p.query.PlaceOf("where").Problem("%s", without(err, planner.ErrTooMany)))
	case errors.Is(err, planner.ErrMaxChunks):
		placed.problems.add(p.query.PlaceOf("max_chunks").Problem("%s", without(err, planner.ErrMaxChunks)))
	case errors.As(err, &values):
		for _, e := range values {
			placed.problems.add(p.at("values."+e.Parameter, e.Message))
		}
	case errors.As(err, &value):
		placed.problems.add(p.at("values."+value.Parameter, value.Message))
	case errors.As(err, &server) && len(server.Fields) > 0:
		for _, f := range server.Fields {
			placed.problems.add(p.at(f.Location, f.Message))
		}
	default:
		return err
	}
	return placed
}

// without gives an error's text from the sentinel on: what stands before it is for programs.
func without(err, sentinel error) string {
	text := err.Error()
	if i := strings.Index(text, sentinel.Error()); i > 0 {
		return text[i:]
	}
	return text
}

// at is a problem of a field of the spec, told where the query has it.
func (p *prepared) at(location, message string) *strictyaml.Error {
	name, isValue := strings.CutPrefix(location, "values.")
	if !isValue {
		return p.query.PlaceOf(location).Problem("%s", message)
	}
	if place, ok := p.resolved.Place(name, -1); ok {
		return place.Problem("%s", message)
	}
	return p.query.PlaceOf("where").Problem("%s: %s", name, message)
}

// placeSpec tells what a spec is refused for where the query has it.
func (p *prepared) placeSpec(err error) error {
	placed := &placedError{cause: fmt.Errorf("%w: %w", query.ErrInvalid, err)}
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, one := range list {
		wrong, ok := errors.AsType[*query.SpecError](one)
		if !ok {
			return placed.cause
		}
		placed.problems.add(p.at(wrong.Field, wrong.Problem.Error()))
	}
	return placed
}
