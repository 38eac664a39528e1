package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqlState is the server's code of an error; empty when it is not the server's.
func sqlState(err error) string {
	if server, is := errors.AsType[*pgconn.PgError](err); is {
		return server.Code
	}
	return ""
}

// isOfData tells whether the server took offence at what was to be stored: asking again would end the same way, and other records may fare
// better. 21, 22 and 23 are cardinality, values and constraints; 54 is more than the server takes of anything.
func isOfData(err error) bool {
	code := sqlState(err)
	return slices.Contains([]string{"21", "22", "23", "54"}, code[:min(2, len(code))])
}

// explained tells what the database said and what to do about it. What wraps ErrRefused needs somebody; the rest passes by itself.
func explained(err error) error {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return fmt.Errorf("%w: %s", ErrUnreachable, cause(err)) // the driver's own text may repeat the connection: only its cause is told
	}
	text := oneLine(server.Message) + " [SQLSTATE " + server.Code + "]"
	switch server.Code {
	case "25006":
		return fmt.Errorf("%w: %s; the database can only be read for now: connect to the server that takes writes", ErrUnreachable, text)
	case "42501":
		return fmt.Errorf("%w: %s; let an owner run braid ledger migrate, and grant this user USAGE on the schema braid and its tables", ErrRefused, text)
	case "3D000":
		return fmt.Errorf("%w: %s; create the database, or name another one", ErrRefused, text)
	case "42P01", "42703", "3F000", "42P10":
		return fmt.Errorf("%w: %s; the tables are not as this build made them: run braid ledger migrate", ErrRefused, text)
	}
	switch class := server.Code[:min(2, len(server.Code))]; class {
	case "28":
		return fmt.Errorf("%w: %s; correct the user or the password (BRAID_LEDGER_URL, --ledger-password-file, PGPASSWORD or ~/.pgpass)", ErrRefused, text)
	case "53":
		return fmt.Errorf("%w: %s; the server has run out of room: let it be given some (disk, memory, connections)", ErrUnreachable, text)
	case "08", "40", "55", "57", "58":
		return fmt.Errorf("%w: %s", ErrUnreachable, text)
	}
	return fmt.Errorf("%w: %s", ErrRefused, text)
}

// cause is the last of a chain of errors: what the driver puts before it says again where it was going.
func cause(err error) string {
	for {
		switch wrapped := err.(type) { //nolint:errorlint // the chain itself is walked
		case interface{ Unwrap() error }:
			if inner := wrapped.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if inner := wrapped.Unwrap(); len(inner) > 0 {
				err = inner[0]
				continue
			}
		}
		return oneLine(err.Error())
	}
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
