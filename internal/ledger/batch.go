package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/pkg/journal"
)

// statementWait bounds one statement of a batch.
const statementWait = 30 * time.Second

// keep stores records in one transaction: all of them, with what they amount to, or none. What is there already stays as it is. bare leaves
// out what the database might refuse for its form.
func keep(ctx context.Context, conn *pgx.Conn, records []*journal.Record, bare bool) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := prepareTx(ctx, tx, statementWait); err != nil {
			return err
		}
		b := batch{tx: tx, records: records, bare: bare}
		for _, part := range []struct {
			name  string
			store func(context.Context) error
		}{
			{"queries", b.queries},
			{"chunks", b.chunks},
			{"attempts", b.attempts},
			{"interruptions", b.interruptions},
			{"load profiles", b.profiles},
			{"load runs", b.runs},
			{"executions and admissions", b.load},
			{"rejects", b.rejects},
		} {
			if err := part.store(ctx); err != nil {
				return fmt.Errorf("store %s: %w", part.name, err)
			}
		}
		return nil
	})
}

// batch is what goes into one transaction.
type batch struct {
	tx      pgx.Tx
	records []*journal.Record
	bare    bool
}

// merge gives rows to a statement as JSON, which reads them as rows of the table.
func merge[R any](ctx context.Context, tx pgx.Tx, statement string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	data, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, statement, string(data))
	return err
}

// newest keeps the last of the rows with equal keys: one statement may change a row once.
func newest[R any, K comparable](rows []R, key func(R) K, sequence func(R) uint64) []R {
	at := map[K]int{}
	var kept []R
	for _, row := range rows {
		i, there := at[key(row)]
		switch {
		case !there:
			at[key(row)] = len(kept)
			kept = append(kept, row)
		case sequence(row) > sequence(kept[i]):
			kept[i] = row
		}
	}
	return kept
}

func (b *batch) queries(ctx context.Context) error {
	var rows []queryRow
	removed := map[string]time.Time{}
	var ids []string
	for _, r := range b.records {
		switch {
		case r.Query != nil:
			rows = append(rows, rowOfQuery(r.Query, r.Sequence))
		case r.RemovedQuery != "":
			removed[r.RemovedQuery] = r.Stored
			ids = append(ids, r.RemovedQuery)
		}
	}
	rows = newest(rows, func(r queryRow) string { return r.Query }, func(r queryRow) uint64 { return r.Revision })
	err := merge(ctx, b.tx, `
		INSERT INTO braid.queries AS had SELECT * FROM json_populate_recordset(NULL::braid.queries, $1::json)
		ON CONFLICT (query) DO UPDATE SET name = excluded.name, service = excluded.service, collection = excluded.collection, definition = excluded.definition,
			spec = excluded.spec, fingerprint = excluded.fingerprint, chunks = excluded.chunks, url = excluded.url, state = excluded.state, run = excluded.run,
			stop_kind = excluded.stop_kind, stop_reason = excluded.stop_reason, stop_until = excluded.stop_until, base = excluded.base, owner = excluded.owner,
			team = excluded.team, created = excluded.created, updated = excluded.updated, revision = excluded.revision
		WHERE excluded.revision > had.revision OR excluded.updated > had.updated`, rows)
	if err != nil {
		return err
	}
	return b.removed(ctx, "UPDATE braid.queries SET removed = $2 WHERE query = $1 AND removed IS NULL", ids, removed)
}

func (b *batch) removed(ctx context.Context, statement string, ids []string, at map[string]time.Time) error {
	for _, id := range ids {
		if _, err := b.tx.Exec(ctx, statement, text(id), at[id]); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) chunks(ctx context.Context) error {
	var rows []chunkRow
	for _, r := range b.records {
		if r.Result != nil {
			rows = append(rows, rowOfChunk(r.Result, r))
		}
	}
	type key struct{ query, position string }
	rows = newest(rows, func(r chunkRow) key { return key{r.Query, r.Position} }, func(r chunkRow) uint64 { return r.Sequence })
	// A result that was lost, or tried again, has another one in its place.
	return merge(ctx, b.tx, `
		INSERT INTO braid.chunks AS had SELECT * FROM json_populate_recordset(NULL::braid.chunks, $1::json)
		ON CONFLICT (query, position) DO UPDATE SET run = excluded.run, outcome = excluded.outcome, result_rows = excluded.result_rows, pages = excluded.pages,
			requests = excluded.requests, bytes = excluded.bytes, sha256 = excluded.sha256, attempt = excluded.attempt, worker = excluded.worker,
			started = excluded.started, finished = excluded.finished, slot_wait_ns = excluded.slot_wait_ns, upstream_ns = excluded.upstream_ns,
			failure_class = excluded.failure_class, failure_status = excluded.failure_status, failure_message = excluded.failure_message,
			stored = excluded.stored, sequence = excluded.sequence
		WHERE excluded.sequence > had.sequence OR excluded.stored > had.stored`, rows)
}

func (b *batch) attempts(ctx context.Context) error {
	var keys []attemptKey
	rows := map[attemptKey][]any{}
	for _, r := range b.records {
		if r.Executions == nil {
			continue
		}
		for i := range r.Executions.Executions {
			e := &r.Executions.Executions[i]
			key := keyOfAttempt(r.Executions.Query, e)
			if _, twice := rows[key]; !twice {
				keys = append(keys, key)
			}
			rows[key] = rowOfAttempt(r.Executions, e)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	there, err := look[attemptKey](ctx, b.tx, `
		SELECT a.query, a.position, a.attempt, a.page, a.try FROM json_populate_recordset(NULL::braid.attempts, $1::json) AS k
		JOIN braid.attempts AS a USING (query, position, attempt, page, try)`, keys)
	if err != nil {
		return err
	}
	var fresh [][]any
	for _, key := range keys {
		if !slices.Contains(there, key) {
			fresh = append(fresh, rows[key])
		}
	}
	return b.copy(ctx, "attempts", attemptColumns(), fresh)
}

// look reads rows of what is there, by keys.
func look[R any, K any](ctx context.Context, tx pgx.Tx, statement string, keys []K) ([]R, error) {
	data, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	found, err := tx.Query(ctx, statement, string(data))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowToStructByPos[R])
}

// copy adds rows that are not there: nobody else writes meanwhile.
func (b *batch) copy(ctx context.Context, table string, columns []string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	n, err := b.tx.CopyFrom(ctx, pgx.Identifier{"braid", table}, columns, pgx.CopyFromRows(rows))
	if err == nil && n != int64(len(rows)) {
		err = fmt.Errorf("%d of %d rows were stored", n, len(rows))
	}
	return err
}

func (b *batch) interruptions(ctx context.Context) error {
	var rows []interruptionRow
	for _, r := range b.records {
		if r.Interruption != nil {
			rows = append(rows, rowOfInterruption(r.Interruption, r.Sequence))
		}
	}
	return merge(ctx, b.tx, "INSERT INTO braid.interruptions SELECT * FROM json_populate_recordset(NULL::braid.interruptions, $1::json) ON CONFLICT DO NOTHING", rows)
}

func (b *batch) profiles(ctx context.Context) error {
	var rows []profileRow
	for _, r := range b.records {
		p := r.Profile
		if r.Run != nil {
			p = &r.Run.Profile // as it was at the start: its own record may be at a later revision by now
		}
		if p == nil {
			continue
		}
		row, err := rowOfProfile(p)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return merge(ctx, b.tx, "INSERT INTO braid.load_profiles SELECT * FROM json_populate_recordset(NULL::braid.load_profiles, $1::json) ON CONFLICT DO NOTHING", rows)
}

func (b *batch) runs(ctx context.Context) error {
	var rows []runRow
	removed := map[string]time.Time{}
	var ids []string
	for _, r := range b.records {
		switch {
		case r.Run != nil:
			row, err := rowOfRun(r.Run, r.Snapshot, r.Sequence)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		case r.RemovedRun != "":
			removed[r.RemovedRun] = r.Stored
			ids = append(ids, r.RemovedRun)
		}
	}
	rows = newest(rows, func(r runRow) string { return r.Run }, func(r runRow) uint64 { return r.Revision })
	err := merge(ctx, b.tx, `
		INSERT INTO braid.load_runs AS had SELECT * FROM json_populate_recordset(NULL::braid.load_runs, $1::json)
		ON CONFLICT (run) DO UPDATE SET profile = excluded.profile, profile_revision = excluded.profile_revision, profile_name = excluded.profile_name,
			environment = excluded.environment, dashboard = excluded.dashboard, title = coalesce(excluded.title, had.title), class = excluded.class, state = excluded.state, ending = excluded.ending,
			reason = excluded.reason, total = excluded.total, charts = excluded.charts, selected = excluded.selected, theoretical = excluded.theoretical,
			selection = excluded.selection, snapshot = excluded.snapshot, fingerprint = excluded.fingerprint, effective_capacity = excluded.effective_capacity,
			capacity = excluded.capacity, request_force = excluded.request_force, gate_hash = excluded.gate_hash, approved_by = excluded.approved_by,
			approval_reason = excluded.approval_reason, trip = excluded.trip, owner = excluded.owner, team = excluded.team, created = excluded.created,
			started = excluded.started, closed = excluded.closed, ended = excluded.ended, updated = excluded.updated, document = excluded.document, revision = excluded.revision
		WHERE excluded.revision > had.revision OR excluded.updated > had.updated`, rows)
	if err != nil {
		return err
	}
	if err := b.charts(ctx); err != nil {
		return err
	}
	return b.removed(ctx, "UPDATE braid.load_runs SET removed = $2 WHERE run = $1 AND removed IS NULL", ids, removed)
}

func (b *batch) charts(ctx context.Context) error {
	var rows []chartRow
	seen := map[string]bool{}
	for _, r := range b.records {
		if r.Snapshot != nil && !seen[r.Snapshot.ID] {
			seen[r.Snapshot.ID] = true
			rows = append(rows, rowsOfCharts(r.Snapshot)...)
		}
	}
	return merge(ctx, b.tx, "INSERT INTO braid.load_charts SELECT * FROM json_populate_recordset(NULL::braid.load_charts, $1::json) ON CONFLICT DO NOTHING", rows)
}

func (b *batch) rejects(ctx context.Context) error {
	var rows []rejectRow
	for _, r := range b.records {
		if r.Bad != nil {
			rows = append(rows, rowOfReject(r, r.Bad))
		}
	}
	return merge(ctx, b.tx, "INSERT INTO braid.rejects SELECT * FROM json_populate_recordset(NULL::braid.rejects, $1::json) ON CONFLICT DO NOTHING", rows)
}
