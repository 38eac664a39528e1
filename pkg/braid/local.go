package braid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/loadrun"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// Coordinator is what a person or a program can do with queries, in this process (Local) or over HTTP (Client). Errors
// wrap the same sentinels either way: those of pkg/query and pkg/messages. Ids may be given by their first letters.
type Coordinator interface {
	LiveViews
	Submit(ctx context.Context, spec *query.Spec) (*messages.Query, error)
	// Resume runs again what has no result. A nil again leaves everything as it was, with a new budget of requests.
	Resume(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error)
	// Retry runs again only the chunks that have failed.
	Retry(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error)
	Cancel(ctx context.Context, id string) (*messages.Query, error)
	Remove(ctx context.Context, id string) error
	// Verify checks every stored result of a query; with reopen, what is lost is pending again and the query interrupted.
	Verify(ctx context.Context, id string, reopen bool) (*messages.Verification, error)
	// Collect removes what nothing needs, and old queries when asked.
	Collect(ctx context.Context, opts messages.GarbageOptions) (*messages.Garbage, error)
	Status(ctx context.Context, id string) (*messages.Status, error)
	Statuses(ctx context.Context) ([]*messages.Status, error)
	Plan(ctx context.Context, spec *query.Spec) (*messages.PlanSummary, error)
	// Quotas tells how the quota pools stand that queries have spent.
	Quotas(ctx context.Context) (*messages.QuotaList, error)
	// Coverage says what came of each value that a query asks for.
	Coverage(ctx context.Context, id string) (*messages.Coverage, error)
	// Failures lists the chunks that have failed, the lowest position first.
	Failures(ctx context.Context, id string) (*messages.Failures, error)
	// Manifest proves the query's table: what was asked, each request that brought rows, and the digests of these.
	Manifest(ctx context.Context, id string) (*messages.Manifest, error)
	// Table writes the finished table; with partial, what there is of an unfinished one.
	Table(ctx context.Context, id, format string, partial bool, w io.Writer) (*frame.Report, error)
}

// Local is a Coordinator in this process. It is safe for concurrent use.
type Local struct {
	engine     *coordinator.Coordinator
	desk       *loadrun.Desk
	loads      *loadrun.Controller
	bus        *bus.Bus
	assets     bus.AssetConfig
	log        *slog.Logger
	scratchDir string
	telemetry  *Telemetry
	name       string // of the coordinator
}

var _ Coordinator = (*Local)(nil)

// Run leads until ctx ends.
func (l *Local) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer stop()
	keeping.Go(func() { l.keep(ctx) })
	return l.lead(ctx)
}

// Submit plans a query, stores it and starts it.
func (l *Local) Submit(ctx context.Context, spec *query.Spec) (*messages.Query, error) {
	return l.engine.Submit(ctx, spec)
}

// SubmitAs is Submit by somebody who is known. What was submitted before under the same key is given with an error that wraps
// query.ErrRepeated.
func (l *Local) SubmitAs(ctx context.Context, spec *query.Spec, by messages.Submission) (*messages.Query, error) {
	return l.engine.SubmitAs(ctx, spec, by)
}

// Plan plans a query and stores nothing.
func (l *Local) Plan(ctx context.Context, spec *query.Spec) (*messages.PlanSummary, error) {
	return l.engine.Plan(ctx, spec)
}

func (l *Local) id(ctx context.Context, prefix string) (string, error) {
	q, err := l.engine.Find(ctx, prefix)
	if err != nil {
		return "", err
	}
	return q.ID, nil
}

// Resume runs again what has no result.
func (l *Local) Resume(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	if again == nil {
		again = &query.Resumption{}
	}
	return l.engine.Resume(ctx, id, coordinator.ResumeOptions(*again))
}

// Retry runs again only the chunks that have failed.
func (l *Local) Retry(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	if again == nil {
		again = &query.Resumption{}
	}
	return l.engine.Retry(ctx, id, coordinator.ResumeOptions(*again))
}

// Failures lists the chunks that have failed, the lowest position first.
func (l *Local) Failures(ctx context.Context, id string) (*messages.Failures, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Failures(ctx, id)
}

// Cancel stops a query for good.
func (l *Local) Cancel(ctx context.Context, id string) (*messages.Query, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Cancel(ctx, id)
}

// Interrupt stops an active query in an orderly way; it can be resumed.
func (l *Local) Interrupt(ctx context.Context, id, reason string) error {
	return l.engine.Interrupt(ctx, id, reason)
}

// InterruptFull stops an active query because no more can be stored; it can be resumed.
func (l *Local) InterruptFull(ctx context.Context, id, reason string) error {
	return l.engine.InterruptFull(ctx, id, reason)
}

// Park marks as interrupted what a process that has ended left running, so that nothing goes on without being asked for.
// Only a process that has the store for itself may call it.
func (l *Local) Park(ctx context.Context) error {
	return errors.Join(l.engine.Park(ctx), l.parkLoads(ctx))
}

// Remove deletes a query that is not active, with all that was kept of it.
func (l *Local) Remove(ctx context.Context, id string) error {
	id, err := l.id(ctx, id)
	if err != nil {
		return err
	}
	return l.engine.Remove(ctx, id)
}

// Status gives a query with its progress.
func (l *Local) Status(ctx context.Context, id string) (*messages.Status, error) {
	return l.engine.Status(ctx, id)
}

// Statuses gives all queries, the newest first.
func (l *Local) Statuses(ctx context.Context) ([]*messages.Status, error) {
	return l.engine.Statuses(ctx)
}

// Select gives the queries that are wanted, the newest first, and whether there are more behind the last of them.
func (l *Local) Select(ctx context.Context, s messages.Selection) (chosen []*messages.Status, more bool, err error) {
	return l.engine.Select(ctx, s)
}

// Survey reads from the result stream itself what is complete of a query.
func (l *Local) Survey(ctx context.Context, q *messages.Query) (*coordinator.Survey, error) {
	return l.engine.Survey(ctx, q)
}

// Recount is a Survey of a query that nobody drives, which is noted as its progress.
func (l *Local) Recount(ctx context.Context, q *messages.Query) (*coordinator.Survey, error) {
	return l.engine.Recount(ctx, q)
}

// Export builds a query's table without writing it. Close it after use.
func (l *Local) Export(ctx context.Context, id string, partial bool) (*coordinator.Export, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Export(ctx, id, partial)
}

// Coverage says what came of each value that a query asks for.
func (l *Local) Coverage(ctx context.Context, id string) (*messages.Coverage, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Coverage(ctx, id)
}

// Manifest proves the query's table: what was asked, each request that brought rows, and the digests of these.
func (l *Local) Manifest(ctx context.Context, id string) (*messages.Manifest, error) {
	id, err := l.id(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.engine.Manifest(ctx, id)
}

// Table writes a query's table, and reports what became of its rows with a summary of them.
func (l *Local) Table(ctx context.Context, id, format string, partial bool, w io.Writer) (report *frame.Report, err error) {
	f, err := output.EncodingOf(format)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	if f == output.GeoJSON {
		if err := l.checkGeometry(ctx, id); err != nil {
			return nil, err
		}
	}
	e, err := l.Export(ctx, id, partial)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	table, summary := e.Table.Summarized()
	err = output.Encode(ctx, w, f, table, e.Meta)
	if errors.Is(err, output.ErrNoGeometry) {
		err = fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	if errors.Is(err, output.ErrUnstorable) {
		err = fmt.Errorf("%w: %w", query.ErrTable, err)
	}
	if err != nil {
		return nil, err
	}
	done := table.Report
	done.Summary = summary()
	return &done, nil
}

// checkGeometry refuses at once what would be found out when all rows have been read.
func (l *Local) checkGeometry(ctx context.Context, prefix string) error {
	id, err := l.id(ctx, prefix)
	if err != nil {
		return err
	}
	columns, err := l.engine.Columns(ctx, id)
	if err == nil && !slices.ContainsFunc(columns, func(c frame.Column) bool { return c.Type == frame.Geometry }) {
		err = fmt.Errorf("%w: %w; choose another format, or select one if the collection has it", query.ErrInvalid, output.ErrNoGeometry)
	}
	return err
}

// Ready tells whether the store can be reached.
func (l *Local) Ready(ctx context.Context) error { return l.bus.Ready(ctx) }

// Close disconnects. Call it after Run has returned.
func (l *Local) Close() {
	l.engine.CloseViews()
	l.bus.Close()
}
