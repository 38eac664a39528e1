//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
)

func tableOf(t testing.TB, shape frame.Shape, rows ...string) *frame.Table {
	t.Helper()
	table, err := frame.Build(t.Context(), shape, nil, func(yield func([]byte, error) bool) {
		for _, row := range rows {
			if !yield([]byte(row+"\n"), nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// filled is what Write calls for a table's rows.
func filled(table *frame.Table) func(context.Context, io.Writer) (int64, error) {
	return func(ctx context.Context, w io.Writer) (int64, error) {
		return table.Report.Rows, output.Encode(ctx, w, output.PGCopy, table, nil)
	}
}

// rig is a database of the test's own.
type rig struct {
	t    *testing.T
	name string
	conn *pgx.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	name := server.Database(t)
	return &rig{t, name, server.Connect(t, name)}
}

func (r *rig) target(table string, mode Mode) Target {
	return Target{Table: table, Mode: mode, Connection: server.URL("postgres", r.name), Named: "BRAID_POSTGRES_URL"}
}

func (r *rig) exec(statement string) {
	r.t.Helper()
	if _, err := r.conn.Exec(r.t.Context(), statement); err != nil {
		r.t.Fatalf("%s: %v", statement, err)
	}
}

// rows gives what a query finds, values as text, nulls as ∅.
func (r *rig) rows(query string) []string {
	r.t.Helper()
	found, err := r.conn.Query(r.t.Context(), query, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for found.Next() {
		var cells []string
		for _, raw := range found.RawValues() {
			if raw == nil {
				cells = append(cells, "∅")
			} else {
				cells = append(cells, string(raw))
			}
		}
		all = append(all, strings.Join(cells, "|"))
	}
	if err := found.Err(); err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r *rig) mustHold(query string, want ...string) {
	r.t.Helper()
	if got := r.rows(query); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.t.Errorf("%s:\n got %q\nwant %q", query, got, want)
	}
}

// mustBeClean wants no table of ours but those named, and no transaction that is still open.
func (r *rig) mustBeClean(tables ...string) {
	r.t.Helper()
	r.mustHold(`SELECT relname FROM pg_class WHERE relkind IN ('r','p','v','f','m') AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema', 'pg_toast')) ORDER BY relname`, tables...)
}

func mustFail(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want %v", err, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v: does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q goes over more than a line", err)
	}
}

// gauges are a small table with a key of two parts.
func gauges() frame.Shape {
	return frame.Shape{
		Fields: []frame.Field{{Name: "site", Type: frame.Text}, {Name: "at", Type: frame.Timestamp}, {Name: "value", Type: frame.Decimal}, {Name: "more", Type: frame.JSON}},
		Key:    []string{"site", "at"},
	}
}

func gauge(site, at, value string) string {
	return fmt.Sprintf(`{"site":%s,"at":%s,"value":%s,"more":{"a": 1}}`, site, at, value)
}

const (
	monday  = `"2024-01-01T00:00:00Z"`
	tuesday = `"2024-01-02T00:00:00Z"`
	allRows = `SELECT site, at AT TIME ZONE 'UTC', value, more FROM gauges`
)
