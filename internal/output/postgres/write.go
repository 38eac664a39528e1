package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/output"
)

// staging is the table that rows come into before they are merged. Only this connection sees it.
const staging = `pg_temp."braid_staging"`

// write connects only when the first line of the table is there: it may take an hour until then, and a transaction that waits keeps the
// server from tidying up.
func (t Target) write(ctx context.Context, in *stream) (Written, error) {
	header, err := output.ReadCopyHeader(in.Reader)
	if err != nil {
		return Written{}, t.fail(ErrFailed, err, "read the table: %s", err)
	}
	s := shape{mode: t.Mode, columns: header.Columns, key: header.Key, keyIsKnown: true}
	if err := s.checkNames(); err != nil {
		return Written{}, t.refused(err)
	}
	conn, err := t.connect(ctx)
	if err != nil {
		return Written{}, err
	}
	defer closeConn(ctx, conn)
	w := Written{Mode: t.Mode}
	err = t.inTransaction(ctx, conn, func(tx pgx.Tx) error {
		p, err := t.look(ctx, tx, s)
		if err != nil {
			return err
		}
		w.Table, w.Created = p.schema+"."+p.table, p.relation == nil
		if w.Created {
			err = t.create(ctx, tx, p, s, in, &w)
		} else {
			err = t.merge(ctx, tx, p, s, in, &w)
		}
		return err
	})
	return w, err
}

// create makes the table and fills it. An index is made when the rows are there, which is faster.
func (t Target) create(ctx context.Context, tx pgx.Tx, p place, s shape, in *stream, w *Written) error {
	if err := t.run(ctx, tx, "create the table", fmt.Sprintf("CREATE TABLE %s (%s)", p.quoted(), s.definitions())); err != nil {
		return err
	}
	if err := t.copyInto(ctx, tx, p.quoted(), s, in, w); err != nil {
		return err
	}
	w.Changed = w.Rows
	if !s.mode.keyed() {
		return nil
	}
	if err := t.checkKeys(ctx, tx, p.quoted(), s); err != nil {
		return err
	}
	return t.run(ctx, tx, "make the unique index on the key", fmt.Sprintf("CREATE UNIQUE INDEX ON %s (%s)", p.quoted(), quoteAll(s.key)))
}

// merge brings rows into a table that is there.
func (t Target) merge(ctx context.Context, tx pgx.Tx, p place, s shape, in *stream, w *Written) error {
	if err := t.run(ctx, tx, "create the staging table", fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) ON COMMIT DROP", staging, s.definitions())); err != nil {
		return err
	}
	if err := t.copyInto(ctx, tx, staging, s, in, w); err != nil {
		return err
	}
	// Who replaces rows must be the only one to write for that while; who adds need not, the unique index sees to it.
	if s.mode == Replace || s.mode == Upsert {
		if err := t.run(ctx, tx, "lock the table", fmt.Sprintf("LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE", p.quoted())); err != nil {
			return err
		}
	}
	again, err := t.look(ctx, tx, s) // it may have been altered while the rows came
	if err != nil {
		return err
	}
	if again.relation == nil || again.relation.oid != p.relation.oid {
		return t.fail(ErrFailed, nil, "the table was dropped or made anew by another session while the rows came; try again")
	}
	if err := t.checkStaged(ctx, tx, again, s); err != nil {
		return err
	}
	if s.mode == Replace {
		if err := t.empty(ctx, tx, p); err != nil {
			return err
		}
	}
	tag, err := tx.Exec(ctx, s.insert(p))
	if err != nil {
		return t.explain(ctx, err, "add the rows")
	}
	if w.Changed = tag.RowsAffected(); !s.mode.keyed() && w.Changed != w.Rows {
		return t.fail(ErrRefused, nil, "of %d rows %d were added, because a trigger of the table takes rows away; nothing was changed. Drop the trigger, or name another table", w.Rows, w.Changed)
	}
	return nil
}

// empty deletes all rows, and makes sure that they are gone.
func (t Target) empty(ctx context.Context, tx pgx.Tx, p place) error {
	if err := t.run(ctx, tx, "delete the old rows", "DELETE FROM "+p.quoted()); err != nil {
		return err
	}
	var left bool
	if err := tx.QueryRow(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM %s)", p.quoted())).Scan(&left); err != nil {
		return t.explain(ctx, err, "look for rows that are left")
	}
	if left {
		return t.fail(ErrRefused, nil, "old rows cannot be deleted, because a trigger of the table keeps them; nothing was changed. Drop the trigger, or name another table")
	}
	return nil
}

// checkStaged refuses what PostgreSQL would change or leave out in silence when rows come into a table that is there.
func (t Target) checkStaged(ctx context.Context, tx pgx.Tx, p place, s shape) error {
	for _, c := range s.columns {
		a, _ := p.relation.attribute(c.Name)
		var most int
		if n, err := fmt.Sscanf(a.of, "character varying(%d)", &most); n != 1 || err != nil {
			continue
		}
		var long bool
		err := tx.QueryRow(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM %s WHERE pg_catalog.char_length(%s) > %d)", staging, quote(c.Name), most)).Scan(&long)
		if err != nil {
			return t.explain(ctx, err, "measure texts")
		}
		if long {
			return t.fail(ErrRefused, nil, "a text of the column %s is too long for the %d characters that the table takes; nothing was changed. ALTER TABLE %s ALTER COLUMN %s TYPE text, or name another table",
				c.Name, most, p.quoted(), quote(c.Name))
		}
	}
	if !s.mode.keyed() {
		return nil
	}
	return t.checkKeys(ctx, tx, staging, s)
}

// checkKeys refuses rows whose keys PostgreSQL does not tell apart, as times that differ by less than a microsecond.
func (t Target) checkKeys(ctx context.Context, tx pgx.Tx, table string, s shape) error {
	there := make([]string, len(s.key))
	for i, name := range s.key {
		there[i] = quote(name) + " IS NOT NULL"
	}
	var twice bool
	err := tx.QueryRow(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM %s WHERE %s GROUP BY %s HAVING pg_catalog.count(*) > 1)",
		table, strings.Join(there, " AND "), quoteAll(s.key))).Scan(&twice)
	if err != nil {
		return t.explain(ctx, err, "compare keys")
	}
	if twice {
		return t.fail(ErrRefused, nil, "two of the rows have the same key (%s) in PostgreSQL, which keeps times to a microsecond; nothing was changed. Use append or replace, or a key that tells them apart", strings.Join(s.key, ", "))
	}
	return nil
}

func (t Target) run(ctx context.Context, tx pgx.Tx, what, statement string) error {
	if _, err := tx.Exec(ctx, statement); err != nil {
		return t.explain(ctx, err, what)
	}
	return nil
}

// copyInto brings all rows of the stream into a table.
func (t Target) copyInto(ctx context.Context, tx pgx.Tx, table string, s shape, in *stream, w *Written) error {
	statement := fmt.Sprintf("COPY %s (%s) FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')", table, quoteAll(s.names()))
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, in.Reader, statement)
	if err != nil {
		return t.explain(ctx, err, "copy the rows")
	}
	rows, err := in.finished()
	if err != nil {
		return err
	}
	if w.Rows = tag.RowsAffected(); w.Rows != rows {
		return t.fail(ErrFailed, nil, "%d rows came of a table of %d; nothing was changed, try again", w.Rows, rows)
	}
	return nil
}

// definitions are the columns for CREATE TABLE.
func (s shape) definitions() string {
	columns := make([]string, len(s.columns))
	for i, c := range s.columns {
		columns[i] = quote(c.Name) + " " + typeOf(c.Type)
	}
	return strings.Join(columns, ", ")
}

// insert is the statement that merges the staged rows. A row that is there and equal is not written again.
func (s shape) insert(p place) string {
	names := quoteAll(s.names())
	statement := fmt.Sprintf("INSERT INTO %s AS kept (%s) SELECT %s FROM %s", p.quoted(), names, names, staging)
	if !s.mode.keyed() {
		return statement
	}
	statement += fmt.Sprintf(" ON CONFLICT (%s) DO ", quoteAll(s.key))
	var set, differ []string
	for _, c := range s.columns {
		if slices.Contains(s.key, c.Name) {
			continue
		}
		name := quote(c.Name)
		set = append(set, fmt.Sprintf("%s = EXCLUDED.%s", name, name))
		as := ""
		if of := typeOf(c.Type); of == "json" || of == "numeric" { // the one is not compared, the other by value: 1.0 and 1.00 are different digits
			as = "::text"
		}
		differ = append(differ, fmt.Sprintf("kept.%s%s IS DISTINCT FROM EXCLUDED.%s%s", name, as, name, as))
	}
	if s.mode == AppendNew || len(set) == 0 {
		return statement + "NOTHING"
	}
	return statement + "UPDATE SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(differ, " OR ")
}
