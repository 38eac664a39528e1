package ledger

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed report.sql
var reportSQL string

// ErrNoRun means that the ledger knows no such run.
var ErrNoRun = errors.New("the ledger has no such run")

// Report computes the numbers of a load run from the ledger by one query (ReportSQL): the JSON of a load.Report, without its breaker,
// diagnostics, thresholds and verdict. The error wraps ErrNoRun.
func (d Database) Report(ctx context.Context, run string) (json.RawMessage, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeConn(ctx, conn)
	var report string
	err = conn.QueryRow(ctx, reportSQL, run).Scan(&report)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, fmt.Errorf("run %.60q: %w", run, ErrNoRun)
	case err != nil:
		return nil, fmt.Errorf("compute the report of run %.60q: %w", run, explained(err))
	}
	return json.RawMessage(report), nil
}

// ReportSQL is the query of Report, for people: $1 is the run.
func ReportSQL() string { return reportSQL }
