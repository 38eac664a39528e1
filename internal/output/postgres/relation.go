package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// place is where in a database rows are to go.
type place struct {
	schema, table string
	relation      *relation // nil: there is none of that name
}

// quoted is the table's name for a statement.
func (p place) quoted() string { return quote(p.schema, p.table) }

// relation is what the catalog says of a name.
type relation struct {
	oid         uint32
	kind        string // as pg_class.relkind
	isPartition bool
	hasChildren bool
	isReferred  bool // deleting its rows changes other tables
	hasRules    bool // that write something else instead
	mayInsert   bool
	mayUpdate   bool
	maySelect   bool
	mayDelete   bool
	columns     []attribute
	unique      [][]string // the columns of each index that keeps rows apart, nulls being different from each other
}

// attribute is a column of a relation.
type attribute struct {
	name      string
	of        string // its type, with its modifier
	notNull   bool
	filled    bool // by a default, an identity or an expression when a row has no value for it
	generated bool // takes no value
}

func (r *relation) attribute(name string) (attribute, bool) {
	i := slices.IndexFunc(r.columns, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return attribute{}, false
	}
	return r.columns[i], true
}

// look finds the table's place, and refuses what cannot hold rows of that shape.
func (t Target) look(ctx context.Context, tx pgx.Tx, s shape) (place, error) {
	var version int
	var readOnly bool
	var schema, user *string
	err := tx.QueryRow(ctx, `SELECT pg_catalog.current_setting('server_version_num')::int, pg_catalog.current_setting('transaction_read_only')::bool,
		pg_catalog.current_schema()::text, current_user::text`).Scan(&version, &readOnly, &schema, &user)
	switch {
	case err != nil:
		return place{}, t.explain(ctx, err, "ask the server what it is")
	case version < oldestVersion:
		return place{}, t.fail(ErrRefused, nil, "the server is PostgreSQL %d.%d; version 12 or later is needed", version/10000, version%10000)
	case readOnly:
		return place{}, t.fail(ErrRefused, nil, "the database can only be read there: it is a standby, or default_transaction_read_only is on for this user; connect to the server that takes writes, or as another user")
	case t.Schema == "" && schema == nil:
		return place{}, t.fail(ErrRefused, nil, "the search path of this user has no schema that exists; name the schema: postgres:SCHEMA.%s", t.Table)
	}
	p := place{schema: t.Schema, table: t.Table}
	if p.schema == "" {
		p.schema = *schema
	}
	if p.relation, err = t.find(ctx, tx, p); err != nil {
		return place{}, err
	}
	if p.relation == nil {
		err = t.mayCreate(ctx, tx, p, *user)
	} else {
		err = s.fits(p, *user)
	}
	if err == nil {
		err = s.checkKey()
	}
	if err != nil {
		return place{}, t.refused(err)
	}
	return p, nil
}

func (t Target) mayCreate(ctx context.Context, tx pgx.Tx, p place, user string) error {
	var may bool
	err := tx.QueryRow(ctx, `SELECT pg_catalog.has_schema_privilege(oid, 'CREATE') FROM pg_catalog.pg_namespace WHERE nspname = $1`, p.schema).Scan(&may)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return t.fail(ErrRefused, nil, "there is no schema %s; create it (CREATE SCHEMA %s), or name another one", p.schema, quote(p.schema))
	case err != nil:
		return t.explain(ctx, err, "look for the schema")
	case !may:
		return t.fail(ErrCredentials, nil, "the table is not there, and the user %s may not create it; let the schema's owner GRANT CREATE ON SCHEMA %s TO %s", user, quote(p.schema), quote(user))
	}
	return nil
}

// find gives what there is under a name, nil when there is nothing.
func (t Target) find(ctx context.Context, tx pgx.Tx, p place) (*relation, error) {
	r := new(relation)
	err := tx.QueryRow(ctx, `SELECT c.oid, c.relkind::text, c.relispartition,
			EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid),
			EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.confrelid = c.oid AND k.contype = 'f' AND k.confdeltype IN ('c', 'n', 'd')),
			c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid),
			pg_catalog.has_any_column_privilege(c.oid, 'INSERT'), pg_catalog.has_table_privilege(c.oid, 'UPDATE'),
			pg_catalog.has_any_column_privilege(c.oid, 'SELECT'), pg_catalog.has_table_privilege(c.oid, 'DELETE')
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2`, p.schema, p.table).
		Scan(&r.oid, &r.kind, &r.isPartition, &r.hasChildren, &r.isReferred, &r.hasRules, &r.mayInsert, &r.mayUpdate, &r.maySelect, &r.mayDelete)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is nothing of that name
	}
	if err != nil {
		return nil, t.explain(ctx, err, "look for the table")
	}
	rows, err := tx.Query(ctx, `SELECT attname::text, pg_catalog.format_type(atttypid, atttypmod), attnotnull,
			atthasdef OR attidentity <> '', attgenerated <> '' OR attidentity = 'a'
		FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, r.oid)
	if err == nil {
		r.columns, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (a attribute, err error) {
			err = row.Scan(&a.name, &a.of, &a.notNull, &a.filled, &a.generated)
			return a, err
		})
	}
	if err != nil {
		return nil, t.explain(ctx, err, "read the table's columns")
	}
	// Versions before 15 have no indnullsnotdistinct; as a member of an object it is then merely absent.
	rows, err = tx.Query(ctx, `SELECT ARRAY(SELECT a.attname::text FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE k.place <= i.indnkeyatts ORDER BY k.place)
		FROM pg_catalog.pg_index i
		WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
			AND NOT COALESCE((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false)
		ORDER BY i.indexrelid`, r.oid)
	if err == nil {
		r.unique, err = pgx.CollectRows(rows, pgx.RowTo[[]string])
	}
	if err != nil {
		return nil, t.explain(ctx, err, "read the table's indexes")
	}
	return r, nil
}
