package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// forgetRows is how many rows one transaction of Forget removes at most, so that writers wait for none for long.
const forgetRows = 2000

// Age says what is to be forgotten. 0 is nothing.
type Age struct {
	Rows    time.Duration // runs, queries, and all that belongs to them, that ended or were sent longer ago
	Samples time.Duration // samples of rows, which hold business data, of executions that were stored longer ago
}

// Forgotten counts what was removed.
type Forgotten struct {
	Samples       int64 `json:"samples"`
	Runs          int64 `json:"load_runs"`
	Executions    int64 `json:"executions"`
	Admissions    int64 `json:"admissions"`
	Profiles      int64 `json:"load_profiles"`
	Queries       int64 `json:"queries"`
	Chunks        int64 `json:"chunks"`
	Attempts      int64 `json:"attempts"`
	Interruptions int64 `json:"interruptions"`
	Rejects       int64 `json:"rejects"`
}

// Forget removes what is old, in transactions of bounded size: what was removed before an error, or before ctx ends, stays removed, and is counted. A
// run that has not ended, and a query that can be resumed, stay however old they are.
func (d Database) Forget(ctx context.Context, age Age, now time.Time) (Forgotten, error) {
	var f Forgotten
	if age.Rows < 0 || age.Samples < 0 || age == (Age{}) {
		return f, fmt.Errorf("%w: say how old what is to be forgotten must be", ErrRefused)
	}
	conn, err := d.connect(ctx)
	if err != nil {
		return f, err
	}
	defer closeConn(ctx, conn)
	steps, err := migrations()
	if err != nil {
		return f, err
	}
	have, err := appliedSteps(ctx, conn)
	if err != nil {
		return f, err
	}
	if err := agree(steps, have); err != nil {
		return f, err
	}
	if len(have) < len(steps) {
		return f, fmt.Errorf("%w: the ledger's tables are not those of this build; run braid ledger migrate", ErrRefused)
	}
	err = forget(ctx, conn, age, now, &f)
	return f, err
}

func forget(ctx context.Context, conn *pgx.Conn, age Age, now time.Time, f *Forgotten) error {
	type part struct {
		count     *int64
		statement string // $1 is an instant, $2 how many rows at most
		before    time.Time
	}
	var parts []part
	if age.Samples > 0 {
		parts = append(parts, part{&f.Samples, `UPDATE braid.executions SET sample = NULL WHERE (run, number, attempt) IN (
			SELECT run, number, attempt FROM braid.executions WHERE sample IS NOT NULL AND stored < $1 LIMIT $2)`, now.Add(-age.Samples)})
	}
	if age.Rows > 0 {
		before := now.Add(-age.Rows)
		// A run's totals go first, and it is marked: from then on they need not be what is left of its rows.
		parts = append(parts, []part{
			{new(int64), `WITH old AS (UPDATE braid.load_runs SET forgotten = now() WHERE run IN (
				SELECT run FROM braid.load_runs WHERE forgotten IS NULL AND state = 'ended' AND coalesce(ended, updated) < $1 ORDER BY run LIMIT $2) RETURNING run),
				found AS (DELETE FROM braid.findings WHERE run IN (SELECT run FROM old)), sums AS (DELETE FROM braid.run_totals WHERE run IN (SELECT run FROM old))
				SELECT run FROM old`, before},
			{&f.Executions, `DELETE FROM braid.executions WHERE (run, number, attempt) IN (
				SELECT e.run, e.number, e.attempt FROM braid.load_runs AS r JOIN braid.executions AS e USING (run) WHERE r.forgotten IS NOT NULL AND $1::timestamptz IS NOT NULL LIMIT $2)`, before},
			{&f.Admissions, `DELETE FROM braid.admissions WHERE (run, number, attempt, repeat) IN (
				SELECT a.run, a.number, a.attempt, a.repeat FROM braid.load_runs AS r JOIN braid.admissions AS a USING (run) WHERE r.forgotten IS NOT NULL AND $1::timestamptz IS NOT NULL LIMIT $2)`, before},
			{&f.Runs, `DELETE FROM braid.load_runs WHERE run IN (SELECT run FROM braid.load_runs WHERE forgotten IS NOT NULL AND $1::timestamptz IS NOT NULL LIMIT $2)`, before},
			{&f.Profiles, `DELETE FROM braid.load_profiles WHERE (profile, revision) IN (SELECT p.profile, p.revision FROM braid.load_profiles AS p WHERE p.updated < $1
				AND NOT EXISTS (SELECT FROM braid.load_runs AS r WHERE r.profile = p.profile AND r.profile_revision = p.revision)
				AND EXISTS (SELECT FROM braid.load_profiles AS n WHERE n.profile = p.profile AND n.revision > p.revision) LIMIT $2)`, before},
			{&f.Attempts, `DELETE FROM braid.attempts WHERE (query, position, attempt, page, try) IN (SELECT query, position, attempt, page, try FROM braid.attempts WHERE sent < $1 LIMIT $2)`, before},
			{&f.Interruptions, `DELETE FROM braid.interruptions WHERE (query, run, position, worker, at, kind) IN (SELECT query, run, position, worker, at, kind FROM braid.interruptions WHERE at < $1 LIMIT $2)`, before},
			{&f.Chunks, `DELETE FROM braid.chunks WHERE (query, position) IN (SELECT c.query, c.position FROM braid.queries AS q JOIN braid.chunks AS c USING (query)
				WHERE q.updated < $1 AND (q.removed IS NOT NULL OR q.state IN ('complete', 'failed', 'cancelled')) LIMIT $2)`, before},
			{&f.Queries, `DELETE FROM braid.queries WHERE query IN (SELECT query FROM braid.queries WHERE updated < $1 AND (removed IS NOT NULL OR state IN ('complete', 'failed', 'cancelled')) LIMIT $2)`, before},
			{&f.Rejects, `DELETE FROM braid.rejects WHERE (feed, sequence, subject) IN (SELECT feed, sequence, subject FROM braid.rejects WHERE stored < $1 LIMIT $2)`, before},
		}...)
	}
	for _, p := range parts {
		for {
			n, err := forgetSome(ctx, conn, p.statement, p.before)
			if err != nil {
				return err
			}
			*p.count += n
			if n < forgetRows {
				break
			}
		}
	}
	return nil
}

// forgetSome runs one statement in a transaction of its own, alone among writers.
func forgetSome(ctx context.Context, conn *pgx.Conn, statement string, before time.Time) (n int64, err error) {
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := prepareTx(ctx, tx, 0); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, statement, before, forgetRows)
		n = tag.RowsAffected()
		return err
	})
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil:
		return 0, errors.Join(context.Cause(ctx), fmt.Errorf("forget: %w", ErrUnreachable))
	}
	return 0, fmt.Errorf("forget: %w", explained(err))
}
