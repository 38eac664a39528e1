package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/query"
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
	read, err := readQueryFile(file, time.Now())
	if err != nil {
		return nil, a.failure("read query file", fmt.Errorf("%w: %w", query.ErrInvalid, err))
	}
	return &queryFileOutput{read}, nil
}

var errNotGiven = errors.New("it was not given with the query; add it, or write its values into the query")

// readQueryFile makes a spec of a query file. Only the files of values that came with it are read.
func readQueryFile(file *contract.QueryFile, now time.Time) (*contract.QueryFileRead, error) {
	q, err := query.Parse(file.Name, []byte(file.Text))
	if err != nil {
		return nil, err
	}
	open := func(name string) ([]byte, error) {
		for _, called := range []string{name, path.Base(name)} {
			if text, ok := file.Files[called]; ok {
				return []byte(text), nil
			}
		}
		return nil, errNotGiven
	}
	var errs strictyaml.Errors
	for _, condition := range q.Where {
		if condition.Source.FromQuery != nil {
			errs = append(errs, condition.Place.Problem("values of another query are read by the command line alone: braid submit"))
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	resolved, err := q.Resolve(query.Sources{Open: open, Zone: time.LoadLocation, Today: now})
	if err != nil {
		return nil, err
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
