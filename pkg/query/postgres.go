package query

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	postgresPrefix   = "postgres:"
	maxRelationBytes = 63
)

// PostgresTable is a table of a PostgreSQL database. Its names are taken as they stand, capital letters too.
type PostgresTable struct {
	Schema string // empty: the first one of the connection's search path
	Table  string
}

// ParsePostgres reads a target of the form postgres:[SCHEMA.]TABLE. is tells whether it means PostgreSQL at all. Its errors do not repeat what
// was given: it may hold a password.
func ParsePostgres(to string) (table PostgresTable, is bool, err error) {
	lower := strings.ToLower(to)
	if !strings.HasPrefix(lower, postgresPrefix) && !strings.HasPrefix(lower, "postgresql:") {
		return PostgresTable{}, false, nil
	}
	rest, found := strings.CutPrefix(to, postgresPrefix)
	if !found || strings.ContainsAny(rest, "/@:?=&%\\ ") {
		return PostgresTable{}, true, errors.New("how to connect to a database does not stand here: put it into the environment variable BRAID_POSTGRES_URL (or into BRAID_POSTGRES_URL_NAME, and say connection: name), and write postgres:TABLE or postgres:SCHEMA.TABLE here")
	}
	parts := strings.Split(rest, ".")
	for _, part := range parts {
		if part == "" || len(part) > maxRelationBytes || !utf8.ValidString(part) || strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return PostgresTable{}, true, errors.New("write postgres:TABLE or postgres:SCHEMA.TABLE, each name of 1 to 63 bytes that can be printed")
		}
	}
	switch len(parts) {
	case 1:
		return PostgresTable{Table: parts[0]}, true, nil
	case 2:
		if strings.HasPrefix(parts[0], "pg_") || parts[0] == "information_schema" {
			return PostgresTable{}, true, errors.New("the schemas pg_… and information_schema belong to PostgreSQL itself; name another one")
		}
		return PostgresTable{Schema: parts[0], Table: parts[1]}, true, nil
	}
	return PostgresTable{}, true, errors.New("write postgres:TABLE or postgres:SCHEMA.TABLE; names with dots in them cannot be written")
}

var connectionName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// CheckConnection refuses a name of a connection that no environment variable can have, without repeating it.
func CheckConnection(name string) error {
	if name != "" && !connectionName.MatchString(name) {
		return errors.New("connection is a name of small letters, digits, - and _, at most 40; how to connect stands in the environment variable BRAID_POSTGRES_URL_ and that name in capitals")
	}
	return nil
}

// ConnectionVariable names the environment variable that says how to connect.
func ConnectionVariable(connection string) string {
	if connection == "" {
		return "BRAID_POSTGRES_URL"
	}
	return "BRAID_POSTGRES_URL_" + strings.ToUpper(strings.ReplaceAll(connection, "-", "_"))
}
