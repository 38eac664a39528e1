package postgres

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
)

// explain tells what the database said, what it means, and what to do. Nothing has been changed when it comes to that.
func (t Target) explain(ctx context.Context, err error, what string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return t.fail(ErrFailed, err, "%s: the connection was lost (%s); nothing was changed, try again", what, cause(err))
	}
	advice, kind := advise(server, t)
	return t.fail(kind, err, "%s: %s; %s", what, serverText(server), advice)
}

// advise says of what kind an error of the server is, and what to do about it.
func advise(e *pgconn.PgError, t Target) (advice string, kind error) {
	switch e.Code {
	case "55P03":
		return "another session holds a lock on the table, and it was waited for for " + t.lockTimeout().String() + " (or for the connection's lock_timeout); nothing was changed, try again when that session is done (pg_locks and pg_stat_activity show who it is)", ErrFailed
	case "25006":
		return "the database can only be read; connect to the server that takes writes, or as another user", ErrRefused
	case "42501":
		if strings.Contains(e.Message, "temporary") {
			return "rows for a table that is there pass through a temporary one; let the database's owner GRANT TEMPORARY ON DATABASE to this user", ErrCredentials
		}
		return "let the owner of the table grant this user the right, or connect as another user", ErrCredentials
	case "42710":
		return "there is a type of that name already, and a table would make another one; name another table, or drop the type", ErrRefused
	case "42P07":
		return "another session made it meanwhile; try again", ErrFailed
	case "23505":
		if e.TableName == "pg_type" || strings.HasPrefix(e.ConstraintName, "pg_") {
			return "another session made the table meanwhile; try again", ErrFailed
		}
		return "the rows go against a unique index of the table; nothing was changed. Use append_new or upsert if the index is that of the key", ErrRefused
	case "21000":
		return "two of the rows have the same key in PostgreSQL; nothing was changed. Use append or replace, or a key that tells them apart", ErrRefused
	case "40P01", "40001":
		return "other sessions were in the way; nothing was changed, try again", ErrFailed
	case "57014":
		return "the server or somebody there stopped the statement; nothing was changed, try again", ErrFailed
	case "22P05":
		if strings.Contains(e.Message, "escape") {
			return "jsonb takes no \\u0000; make the column json, or name another table; nothing was changed", ErrRefused
		}
		return "the database keeps texts in another encoding than UTF8, which has not this character; use a database with the encoding UTF8", ErrRefused
	case "22003":
		return "a number has no place in the column; give the column a wider type, or name another table; nothing was changed", ErrRefused
	case "22001":
		return "a text is too long for the column; give the column a wider type, or name another table; nothing was changed", ErrRefused
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "53":
		return "the server has run out of room; nothing was changed. Let it be given some (disk, memory, connections), and try again", ErrFailed
	case "54":
		return "that is more than PostgreSQL takes; choose fewer columns with select, or write the table to a file", ErrRefused
	case "57":
		return "the connection was ended by the server; nothing was changed, try again", ErrFailed
	case "08":
		return "the connection was lost; nothing was changed, try again", ErrFailed
	case "23":
		return "the rows go against a constraint of the table; nothing was changed. Change the constraint, or name another table", ErrRefused
	}
	return "nothing was changed", ErrFailed
}

// serverText is what the server said, with the place in the rows where it tells it.
func serverText(e *pgconn.PgError) string {
	parts := []string{e.Message}
	for _, more := range []string{e.Detail, e.Where} {
		if more != "" {
			parts = append(parts, "("+strings.TrimSuffix(more, ".")+")")
		}
	}
	return oneLine(strings.Join(parts, " ")) + " [SQLSTATE " + e.Code + "]"
}

// oneLine keeps what a server or the system said bounded and printable.
func oneLine(text string) string {
	const most = 400
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
