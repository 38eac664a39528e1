package httpapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// LiveViews show how queries go on, and what they go on with. They answer at once: what is still being read says so, and who watches
// asks again. An error about a parameter is a *query.ParameterError.
type LiveViews interface {
	// Grid counts where positions stand, from one to before another, in at most so many bins; a to of 0 is the plan's end.
	Grid(ctx context.Context, id string, from, to, bins int) (*messages.Grid, error)
	// Series tells how a query went over time, in at most so many steps.
	Series(ctx context.Context, id string, points int) (*messages.Series, error)
	// Chunks lists positions that stand so, from one on; an empty state is each, an empty from the first.
	Chunks(ctx context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error)
	// Chunk tells all that is known of one position.
	Chunk(ctx context.Context, id string, at messages.Position) (*messages.ChunkDetail, error)
	// Preview gives the first rows that are stored.
	Preview(ctx context.Context, id string, limit int) (*messages.Preview, error)
	Services(ctx context.Context) (*messages.ServiceList, error)
	Service(ctx context.Context, name string) (*messages.ServiceView, error)
	Workers(ctx context.Context) (*messages.WorkerList, error)
}

func (a *api) routeLiveViews() {
	a.routeGrid()
	a.routeSeries()
	a.routeChunks()
	a.routeRows()
	a.routeServices()
	a.routeWorkers()
}

// isLiveView tells what a page that shows how things stand asks for every few seconds.
func isLiveView(path string) bool {
	if path == servicesPath || strings.HasPrefix(path, servicesPath+"/") || path == workersPath {
		return true
	}
	rest, ofQueries := strings.CutPrefix(path, queriesPath+"/")
	_, view, _ := strings.Cut(rest, "/")
	view, _, _ = strings.Cut(view, "/")
	return ofQueries && slices.Contains([]string{"grid", "series", "chunks", "rows"}, view)
}

// view tells what a view has of the query that a route names.
func view[T any](a *api, of *One, what string, tell func(id string) (T, error)) (seen T, err error) {
	id, err := of.id()
	if err != nil {
		return seen, a.failure(what, err)
	}
	if seen, err = tell(id); err != nil {
		return seen, a.viewFailure(what, err)
	}
	return seen, nil
}

// viewFailure is failure for a route that has parameters but no body: what is wrong with one is a mistake of the request and not of a query.
func (a *api) viewFailure(what string, err error) *contract.Problem {
	parameter, ok := errors.AsType[*query.ParameterError](err)
	if !ok {
		return a.failure(what, err)
	}
	location := "query." + parameter.Name
	if parameter.Name == "position" {
		location = "path." + parameter.Name
	}
	return contract.NewProblem(contract.KindNamed(contract.RequestInvalid), err.Error(), contract.FieldError{Location: location, Message: parameter.Message})
}
