package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
	"github.com/braidhq/braid/pkg/strictyaml"
)

const queryFilePath = "/v1/query-file"

type queryFileOutput struct{ Body *contract.QueryFileRead }

// routeQueryFile reads query files for those who have no program of ours that does: the dashboard's form.
func (a *api) routeQueryFile() {
	huma.Register(a.huma, a.operation("read-query-file", http.MethodPost, queryFilePath,
		"Read a query file as the query that is submitted; nothing is stored or sent, and no file of the server is read"), a.readQueryFile)
	describeBody[contract.QueryFile](a, queryFilePath, true)
}

func (a *api) readQueryFile(ctx context.Context, in *struct{ Payload }) (*queryFileOutput, error) {
	data, err := in.read(ctx, a, contract.MaxQueryFileBytes)
	if err != nil {
		return nil, a.failure("read query file", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	file, err := contract.DecodeQueryFile(data)
	if err != nil {
		return nil, contract.NewProblem(contract.KindNamed(contract.RequestInvalid), err.Error(), fieldErrors(err)...)
	}
	read, err := readQueryFile(file, a.ports.Definition, time.Now())
	if err != nil {
		return nil, a.failure("read query file", fmt.Errorf("%w: %w", query.ErrInvalid, err))
	}
	return &queryFileOutput{read}, nil
}

var errNotGiven = errors.New("it was not given with the query; add it, or write its values into the query")

// readQueryFile makes a spec of a query file. Only the files of values that came with it are read. What is wrong is told all at once: with
// the file, with what it reads, and with what the service's definition knows; definition may be nil.
func readQueryFile(file *contract.QueryFile, definition func(string) (*service.Definition, error), now time.Time) (*contract.QueryFileRead, error) {
	var errs strictyaml.Errors
	q, err := query.Parse(file.Name, []byte(file.Text))
	if err := take(&errs, err); err != nil {
		return nil, err
	}
	if q == nil {
		return nil, errs
	}
	open := func(name string) ([]byte, error) {
		for _, called := range []string{name, path.Base(name)} {
			if text, ok := file.Files[called]; ok {
				return []byte(text), nil
			}
		}
		return nil, errNotGiven
	}
	for _, condition := range q.Where {
		if condition.Source.FromQuery != nil {
			errs = append(errs, condition.Place.Problem("values of another query are read by the command line alone: braid submit"))
		}
	}
	collection := collectionOf(q, definition, &errs)
	sources := query.Sources{Open: open, Zone: time.LoadLocation, Today: now}
	if collection != nil {
		sources.Accepts = collection.Accepts
	}
	resolved, err := q.Resolve(sources)
	if err := take(&errs, err); err != nil {
		return nil, err
	}
	if collection != nil {
		errs = append(errs, q.Check(collection, resolved)...)
	}
	if len(errs) > 0 {
		slices.SortStableFunc(errs, func(a, b *strictyaml.Error) int { return cmp.Compare(a.Line, b.Line) })
		return nil, errs
	}
	read := &contract.QueryFileRead{Spec: q.Spec(resolved.Values), Notes: append([]string{}, resolved.Notes...)}
	if err := read.Spec.Validate(); err != nil {
		return nil, err
	}
	if len(q.Outputs) != 1 || q.Outputs[0].To != q.Name+".parquet" {
		read.Notes = append(read.Notes, "output: a server writes no files; download the table from the query's page")
	}
	return read, nil
}

// take adds the problems that err tells of to errs, and gives any other error back.
func take(errs *strictyaml.Errors, err error) error {
	if several, ok := errors.AsType[strictyaml.Errors](err); ok {
		*errs = append(*errs, several...)
		return nil
	}
	return err
}

// collectionOf finds what a query asks; nil where that is not known, or has been told as a problem.
func collectionOf(q *query.Query, definition func(string) (*service.Definition, error), errs *strictyaml.Errors) *service.Collection {
	if definition == nil || q.Service == "" {
		return nil
	}
	d, err := definition(q.Service)
	if err != nil {
		*errs = append(*errs, q.PlaceOf("service").Problem("%s", err))
		return nil
	}
	if q.Collection == "" {
		return nil
	}
	c, err := d.Collection(q.Collection)
	if err != nil {
		*errs = append(*errs, q.PlaceOf("collection").Problem("%s", err))
		return nil
	}
	return c
}
