package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
)

const (
	maxNameBytes = 63
	maxColumns   = 1600
	mostNamed    = 20 // columns that a message names
)

// shape is what the rows are, and what is to become of them.
type shape struct {
	mode       Mode
	columns    []output.CopyColumn
	key        []string
	partial    bool // there may be more columns
	keyIsKnown bool
}

func quote(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}

func (s shape) names() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.Name
	}
	return names
}

// typeOf gives PostgreSQL's type for a declared one; empty when it is not known.
func typeOf(t frame.Type) string {
	switch t {
	case frame.Text:
		return "text"
	case frame.Int64:
		return "bigint"
	case frame.Float64:
		return "double precision"
	case frame.Decimal:
		return "numeric"
	case frame.Bool:
		return "boolean"
	case frame.Date:
		return "date"
	case frame.Timestamp:
		return "timestamp with time zone"
	case frame.ListText:
		return "text[]"
	case frame.JSON, frame.Geometry:
		return "json"
	}
	return ""
}

// holds tells whether a column of a table takes all values of a declared type, or says loudly which it does not take. A type that would
// round, cut or move values in silence is none of them. Of jsonb the value is the same, the spelling is not.
func holds(of string, t frame.Type) bool {
	if of == typeOf(t) {
		return true
	}
	switch t {
	case frame.Text:
		return of == "character varying" || strings.HasPrefix(of, "character varying(") && !strings.HasSuffix(of, "]")
	case frame.Int64:
		return of == "integer" || of == "smallint" || of == "numeric"
	case frame.ListText:
		return of == "character varying[]"
	case frame.JSON, frame.Geometry:
		return of == "jsonb" || of == "text"
	default:
		return false
	}
}

// checkNames refuses columns that no table can have.
func (s shape) checkNames() error {
	if len(s.columns) > maxColumns {
		return fmt.Errorf("the table has %d columns, and PostgreSQL takes %d; choose some with select", len(s.columns), maxColumns)
	}
	if len(s.columns) == 0 && !s.partial {
		return errors.New("the table has no column, and PostgreSQL takes no rows of such a one")
	}
	cut := map[string]string{}
	for _, c := range s.columns {
		const advice = "rename it in the service definition (finalize: rename), or leave it out with select"
		start := c.Name[:min(len(c.Name), maxNameBytes)]
		before, twice := cut[start]
		cut[start] = c.Name
		switch {
		case typeOf(c.Type) == "":
			return fmt.Errorf("column %.80q has the type %.40q, which is not known here; use a braid of the coordinator's version", c.Name, c.Type)
		case c.Name == "" || strings.ContainsRune(c.Name, 0):
			return fmt.Errorf("a column is called %.80q, which PostgreSQL takes for no name; %s", c.Name, advice)
		case len(c.Name) > maxNameBytes && twice:
			return fmt.Errorf("the columns %q and %q have the same first %d bytes, behind which PostgreSQL cuts names; rename one in the service definition (finalize: rename), or leave it out with select", before, c.Name, maxNameBytes)
		case len(c.Name) > maxNameBytes:
			return fmt.Errorf("the name of column %q has %d bytes, and PostgreSQL takes %d; %s", c.Name, len(c.Name), maxNameBytes, advice)
		case twice && before == c.Name:
			return fmt.Errorf("two columns are called %q; %s", c.Name, advice)
		case slices.Contains([]string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}, c.Name):
			return fmt.Errorf("column %s has the name of one that PostgreSQL itself gives every table; %s", c.Name, advice)
		}
	}
	return nil
}

// checkKey refuses rows that cannot be told apart, when they must be.
func (s shape) checkKey() error {
	if !s.mode.keyed() || s.partial && !s.keyIsKnown {
		return nil
	}
	if len(s.key) == 0 {
		return fmt.Errorf("if_exists: %s needs the key that tells rows apart, and the table has none: the service definition gives the collection no key, or one of its columns is left out of the table; select all columns of the key, or use append or replace", s.mode)
	}
	for _, name := range s.key {
		i := slices.IndexFunc(s.columns, func(c output.CopyColumn) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("if_exists: %s needs the column %s of the key, which is not in the table; select it", s.mode, name)
		}
		if typeOf(s.columns[i].Type) == "json" {
			return fmt.Errorf("if_exists: %s needs to compare keys, and the column %s of the key is JSON, which PostgreSQL does not compare; use append or replace", s.mode, name)
		}
	}
	return nil
}

// fits refuses a table that is there and cannot take the rows. All checks are of the catalog: nothing is locked.
func (s shape) fits(p place, user string) error {
	r := p.relation
	if s.mode == Fail {
		return fmt.Errorf("%s is there already; name another table, or say what is to become of it: if_exists: replace, append, append_new or upsert (--if-exists)", p.quoted())
	}
	if err := r.checkKind(s.mode); err != nil {
		return err
	}
	if err := r.checkRights(s.mode, p, user); err != nil {
		return err
	}
	if err := s.checkColumns(p); err != nil {
		return err
	}
	if s.partial && !s.keyIsKnown || !s.mode.keyed() || len(s.key) == 0 {
		return nil
	}
	if slices.ContainsFunc(r.unique, func(columns []string) bool { return sameSet(columns, s.key) }) {
		return nil
	}
	return fmt.Errorf("if_exists: %s needs a unique index on the key of the rows, and the table has none: CREATE UNIQUE INDEX ON %s (%s)", s.mode, p.quoted(), quoteAll(s.key))
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func (r *relation) checkKind(mode Mode) error {
	kinds := map[string]string{
		"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "i": "an index", "I": "an index", "c": "a type", "p": "a partitioned table",
	}
	switch {
	case r.hasRules:
		return errors.New("it has rules (pg_rules) that may write something else than the rows; drop them, or name another table")
	case r.kind == "p" && mode != Replace:
		return nil
	case r.kind != "r" && kinds[r.kind] != "":
		return fmt.Errorf("it is %s, and if_exists: %s needs a plain table; name another one", kinds[r.kind], mode)
	case r.kind != "r":
		return fmt.Errorf("it is no table (relkind %s); name another one", r.kind)
	case mode == Replace && r.isPartition:
		return errors.New("it is a partition of another table, whose rows if_exists: replace would take away; name another one")
	case mode == Replace && r.hasChildren:
		return errors.New("other tables inherit from it, and if_exists: replace would take their rows away too; name another one")
	case mode == Replace && r.isReferred:
		return errors.New("rows of other tables are deleted or changed with its rows (a foreign key with ON DELETE CASCADE or SET), so that if_exists: replace would lose them; use upsert, or name another one")
	}
	return nil
}

func (r *relation) checkRights(mode Mode, p place, user string) error {
	var missing []string
	for _, right := range []struct {
		name      string
		has, need bool
	}{
		{"INSERT", r.mayInsert, true},
		{"UPDATE", r.mayUpdate, mode == Upsert},
		{"DELETE", r.mayDelete, mode == Replace},
		{"SELECT", r.maySelect, mode.keyed()},
	} {
		if right.need && !right.has {
			missing = append(missing, right.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rights := strings.Join(missing, ", ")
	return &Error{
		Table: p.schema + "." + p.table, Kind: ErrCredentials,
		Text: fmt.Sprintf("the user %s lacks the right to %s; let the table's owner GRANT %s ON %s TO %s", user, rights, rights, p.quoted(), quote(user)),
	}
}

// checkColumns refuses a table that lacks columns, would change values, or demands some that the rows do not have.
func (s shape) checkColumns(p place) error {
	var lacking, unfit []string
	for _, c := range s.columns {
		a, found := p.relation.attribute(c.Name)
		switch {
		case !found:
			lacking = append(lacking, fmt.Sprintf("ADD COLUMN %s %s", quote(c.Name), typeOf(c.Type)))
		case a.generated:
			return fmt.Errorf("the column %s of the table makes its own values and takes none; rename it in the service definition (finalize: rename), or leave it out with select", c.Name)
		case !holds(a.of, c.Type):
			unfit = append(unfit, fmt.Sprintf("%s is %s, and the rows have %s", c.Name, a.of, typeOf(c.Type)))
		}
	}
	if len(lacking) > 0 {
		more := ""
		if len(lacking) > mostNamed {
			more = fmt.Sprintf(" (and %d more)", len(lacking)-mostNamed)
		}
		return fmt.Errorf("the table lacks columns that the rows have; leave them out with select, or ALTER TABLE %s %s%s", p.quoted(), strings.Join(lacking[:min(len(lacking), mostNamed)], ", "), more)
	}
	if len(unfit) > 0 {
		return fmt.Errorf("columns of the table have types in which values would be changed or have no place: %s; change them (ALTER TABLE %s ALTER COLUMN … TYPE …), or name another table",
			strings.Join(unfit[:min(len(unfit), mostNamed)], "; "), p.quoted())
	}
	if s.partial {
		return nil
	}
	names := s.names()
	for _, a := range p.relation.columns {
		if a.notNull && !a.filled && !a.generated && !slices.Contains(names, a.name) {
			return fmt.Errorf("the column %s of the table must not be null, has no default, and the rows have no such column; give it a default, or name another table", a.name)
		}
	}
	return nil
}
