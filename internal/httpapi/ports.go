package httpapi

import (
	"context"
	"io"

	"github.com/braidhq/braid/internal/httpapi/feed"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// All ports are called by many goroutines at once and return soon after ctx ends. Errors wrap the sentinels of pkg/query
// and pkg/messages; any other error is told to the log alone. An id may be given by its first letters; an empty one
// means the newest query.

// Commands change queries.
type Commands interface {
	// SubmitAs gives what was submitted before under the same key with an error that wraps query.ErrRepeated.
	SubmitAs(ctx context.Context, spec *query.Spec, by messages.Submission) (*messages.Query, error)
	// Resume runs again what has no result.
	Resume(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error)
	// Retry runs again only the chunks that have failed.
	Retry(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error)
	Cancel(ctx context.Context, id string) (*messages.Query, error)
	Remove(ctx context.Context, id string) error
	// Verify checks every stored result of a query; with reopen, what is lost is pending again and the query interrupted.
	Verify(ctx context.Context, id string, reopen bool) (*messages.Verification, error)
	// Collect removes what nothing needs, and old queries when asked.
	Collect(ctx context.Context, opts messages.GarbageOptions) (*messages.Garbage, error)
}

// Views show queries and change nothing.
type Views interface {
	LiveViews
	Status(ctx context.Context, id string) (*messages.Status, error)
	// Select gives the queries that are wanted, the newest first, and whether there are more behind the last of them.
	Select(ctx context.Context, s messages.Selection) (chosen []*messages.Status, more bool, err error)
	Plan(ctx context.Context, spec *query.Spec) (*messages.PlanSummary, error)
	// Quotas tells how the quota pools stand that queries have spent.
	Quotas(ctx context.Context) (*messages.QuotaList, error)
	// Coverage says what came of each value that a query asks for.
	Coverage(ctx context.Context, id string) (*messages.Coverage, error)
	// Failures lists the chunks that have failed.
	Failures(ctx context.Context, id string) (*messages.Failures, error)
	// Manifest proves a query's table.
	Manifest(ctx context.Context, id string) (*messages.Manifest, error)
	// Ready tells whether commands can be carried out.
	Ready(ctx context.Context) error
}

// Tables gives the tables of queries.
type Tables interface {
	// Table builds a query's table in a format; with partial, of what there is.
	Table(ctx context.Context, id, format string, partial bool) (*Table, error)
}

// Table is a written table.
type Table struct {
	Query       string // the whole id; names the file
	Report      frame.Report
	ContentType string // empty: that of the format
	ETag        string // strong, with its quotes: equal ones are equal bytes. Empty: what is asked for next may be another table
	Content     io.ReadSeeker
	Close       func() // once it has been sent
}

// Ports are the API's connections to what it shows.
type Ports struct {
	Commands Commands
	Views    Views
	Tables   Tables
	Feed     *feed.Hub                             // nil: no events are told
	Leader   func(context.Context) (string, error) // which coordinator leads, empty when none does; nil: nobody knows
	// Definition opens the definition of a service as queries are planned by it; nil: query files are read without.
	Definition func(name string) (*service.Definition, error)
	// Loads is asked about load runs; nil: there are no such routes.
	Loads LoadDesk
	// Stopping is closed when the server begins to stop, so that streams of load runs' events end; nil: they end with their requests.
	Stopping <-chan struct{}
}
