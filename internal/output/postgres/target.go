package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
)

// Mode says what becomes of a table that is there already. A table that is not there is created in every mode.
type Mode string

// The modes.
const (
	Fail      Mode = "fail"       // there must be none
	Replace   Mode = "replace"    // its rows are replaced; grants, indexes and views stay
	Append    Mode = "append"     // all rows are added
	AppendNew Mode = "append_new" // rows are added whose key is not there
	Upsert    Mode = "upsert"     // rows whose key is there replace the row there, the others are added
)

// keyed tells whether a mode tells rows apart by their key.
func (m Mode) keyed() bool { return m == AppendNew || m == Upsert }

// Target is a table of a database.
type Target struct {
	Schema string // empty: the first schema of the connection's search path
	Table  string
	Mode   Mode

	Connection string // URL or key=value; what it does not say comes from PGHOST and the other variables and files of libpq
	Named      string // what a person knows the connection by, such as the name of an environment variable; it stands in messages

	// LockTimeout is how long a lock that another session holds is waited for; 0 is 10 seconds. A lock_timeout in the connection
	// string outranks it.
	LockTimeout time.Duration
}

// Written says what was done.
type Written struct {
	Table   string `json:"table"` // with its schema
	Mode    Mode   `json:"if_exists"`
	Created bool   `json:"created"`
	Rows    int64  `json:"rows"`    // of the table that came
	Changed int64  `json:"changed"` // rows added or replaced
}

// Expected is what is known of a table before its rows are: columns that it will have in any case, and its key.
type Expected struct {
	Columns []frame.Column
	Key     []string
	// KeyIsKnown tells that Key is the whole key, whatever the rows are.
	KeyIsKnown bool
}

// Check connects and finds out whether the rows could be written, as far as that can be known before they are there. It changes
// nothing and takes no lock. Errors are *Error.
func (t Target) Check(ctx context.Context, e Expected) error {
	s := shape{mode: t.Mode, partial: true, keyIsKnown: e.KeyIsKnown, key: e.Key}
	for _, c := range e.Columns {
		s.columns = append(s.columns, output.CopyColumn{Name: c.Name, Type: c.Type})
	}
	if err := s.checkNames(); err != nil {
		return t.refused(err)
	}
	conn, err := t.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	return t.inTransaction(ctx, conn, func(tx pgx.Tx) error {
		_, err := t.look(ctx, tx, s)
		if err != nil {
			return err
		}
		return errNothingToKeep
	})
}

// errNothingToKeep ends a transaction that has only looked.
var errNothingToKeep = errors.New("nothing to keep")

// Write brings a table into the database. fill writes it as the stream output.PGCopy, and gives the number of its rows; it is called
// once, in a goroutine that has ended when Write returns. Nothing of the table is there when Write fails, and it can be called
// again; but for a connection that is lost exactly at the end the error says that the outcome is not known. What fill says, or the cause of ctx,
// comes back as it is; all other errors are *Error.
func (t Target) Write(ctx context.Context, fill func(context.Context, io.Writer) (rows int64, err error)) (Written, error) {
	s := startStream(ctx, fill)
	written, err := t.write(ctx, s)
	if fillErr := s.end(); fillErr != nil && !errors.Is(fillErr, errGivenUp) {
		return Written{}, fillErr
	}
	if err != nil {
		return Written{}, err
	}
	return written, nil
}

// name is how the table is called in messages.
func (t Target) name() string {
	if t.Schema == "" {
		return t.Table
	}
	return t.Schema + "." + t.Table
}

// Errors that an *Error wraps one of.
var (
	// ErrRefused: the table, the database or the rows are not as they must be. It needs somebody to change one of them.
	ErrRefused = errors.New("table refused")
	// ErrCredentials: the database does not let this user in, or it may not do this.
	ErrCredentials = errors.New("credentials refused")
	// ErrUnreachable: the database cannot be reached.
	ErrUnreachable = errors.New("database not reached")
	// ErrFailed: the database gave up. It may go well another time.
	ErrFailed = errors.New("table not written")
)

// Error tells why a table was not written, and what to do. It never holds a connection string.
type Error struct {
	Table string // as it was given
	Kind  error  // ErrRefused, ErrCredentials, ErrUnreachable or ErrFailed
	Text  string
	Err   error // what the driver said; may be nil
}

func (e *Error) Error() string { return "postgres:" + e.Table + ": " + e.Text }

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// refused makes an error of what a check found.
func (t Target) refused(err error) error {
	if _, own := errors.AsType[*Error](err); own {
		return err
	}
	return &Error{Table: t.name(), Kind: ErrRefused, Text: err.Error()}
}

func (t Target) fail(kind, cause error, format string, args ...any) error {
	return &Error{Table: t.name(), Kind: kind, Text: fmt.Sprintf(format, args...), Err: cause}
}
