package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Overview tells what is in the database, for people.
type Overview struct {
	Where      string     `json:"where"`
	Version    int        `json:"version"`
	Steps      []Step     `json:"steps"`
	Tables     []Table    `json:"tables"`
	LastStored *time.Time `json:"last_stored"` // of an execution; nil: there is none
	Rejects    int64      `json:"rejects"`
	Unequal    []string   `json:"unequal_runs"` // whose totals are not what their rows amount to: there must be none
}

// Table is how large a table is.
type Table struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"` // exact below some thousands, else as the database estimates
	Bytes int64  `json:"bytes"`
	// Estimated: Rows is what the database estimates.
	Estimated bool `db:"-" json:"estimated,omitempty"`
}

// Overview looks into the database. It changes nothing.
func (d Database) Overview(ctx context.Context) (*Overview, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeConn(ctx, conn)
	steps, err := d.Steps(ctx)
	if err != nil {
		return nil, err
	}
	o := &Overview{Where: d.Where(), Steps: steps}
	for _, step := range steps {
		if !step.Applied.IsZero() {
			o.Version = step.Version
		}
	}
	if o.Version < len(steps) {
		return o, nil // there is nothing to look at yet
	}
	if err := o.look(ctx, conn); err != nil {
		return nil, fmt.Errorf("look into the ledger: %w", explained(err))
	}
	return o, nil
}

func (o *Overview) look(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT relname::text, greatest(reltuples, 0)::bigint, pg_total_relation_size(c.oid) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = 'braid' AND relkind = 'r' AND relname <> 'migrations' ORDER BY relname`)
	if err != nil {
		return err
	}
	if o.Tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Table]); err != nil {
		return err
	}
	const exactly = 10_000
	for i := range o.Tables {
		t := &o.Tables[i]
		if t.Estimated = t.Rows >= 10*exactly; !t.Estimated { // statistics may be of before what was removed or added since
			text := "SELECT count(*) FROM (SELECT FROM " + pgx.Identifier{"braid", t.Name}.Sanitize() + " LIMIT " + strconv.Itoa(exactly) + ") AS counted"
			var n int64
			if err := conn.QueryRow(ctx, text).Scan(&n); err != nil {
				return err
			}
			if t.Estimated = n == exactly; t.Estimated {
				n = max(t.Rows, n)
			}
			t.Rows = n
		}
	}
	if err := conn.QueryRow(ctx, "SELECT (SELECT max(stored) FROM braid.executions), (SELECT count(*) FROM braid.rejects)").Scan(&o.LastStored, &o.Rejects); err != nil {
		return err
	}
	if rows, err = conn.Query(ctx, "SELECT run FROM braid.v_check ORDER BY run LIMIT 100"); err != nil {
		return err
	}
	o.Unequal, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}
