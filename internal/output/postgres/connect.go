package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	connectTimeout     = 20 * time.Second // unless the connection string says another one
	partingTimeout     = 5 * time.Second
	commitTimeout      = 10 * time.Minute
	defaultLockTimeout = 10 * time.Second
	oldestVersion      = 120000
)

// config reads the connection string. No error of it may hold any part of the string: what is between its separators cannot be
// told for sure from a password when they are wrong.
func (t Target) config() (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(t.Connection)
	if err != nil {
		why := ""
		var path *fs.PathError
		switch {
		case t.Connection == "":
			why = ": " + oneLine(err.Error())
		case errors.As(err, &path):
			why = ": " + path.Error()
		}
		return nil, t.fail(ErrRefused, nil, "%s cannot be read as a connection%s; write postgres://USER@HOST:PORT/DATABASE, or host=… dbname=… user=…, with the special characters of a password written as %%XX in a URL",
			t.Named, why)
	}
	if looksCut(t.Connection, cfg) {
		return nil, t.fail(ErrRefused, nil, "%s does not read as one connection: a special character of the password may have ended it early; write @ as %%40, / as %%2F, : as %%3A", t.Named)
	}
	// Statements are not prepared, so that poolers between us and the server do no harm.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.RuntimeParams["client_encoding"] = "UTF8"
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "braid"
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	return cfg, nil
}

// looksCut tells whether parts of a URL hold what separates parts: then it was most probably a password that has ended too early, and
// a piece of it is taken for a host or a database, which are shown.
func looksCut(connection string, cfg *pgx.ConnConfig) bool {
	if !strings.HasPrefix(connection, "postgres://") && !strings.HasPrefix(connection, "postgresql://") {
		return false
	}
	return strings.ContainsAny(cfg.Database, "@:/") || strings.ContainsAny(cfg.User, "@:/") || strings.ContainsAny(cfg.Host, "@") || !strings.HasPrefix(cfg.Host, "/") && strings.Contains(cfg.Host, "/")
}

func (t Target) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := t.config()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	database := cfg.Database
	if database == "" {
		database = cfg.User // as the server takes it
	}
	where := fmt.Sprintf("%s, database %s, user %s (%s)", address(cfg), database, cfg.User, t.Named)
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return nil, t.fail(ErrUnreachable, err, "cannot connect to %s: %s; see that the server runs and can be reached from here, or correct the connection", where, cause(err))
	}
	kind, advice := ErrUnreachable, "correct the connection, or try again later"
	switch {
	case strings.HasPrefix(server.Code, "28") && cfg.Password == "":
		kind, advice = ErrCredentials, "no password was given: write it into the connection, PGPASSWORD or ~/.pgpass"
	case strings.HasPrefix(server.Code, "28"):
		kind, advice = ErrCredentials, "correct the user or the password of the connection (a password may stand in ~/.pgpass)"
	case server.Code == "3D000":
		advice = "create the database, or name another one"
	case server.Code == "42501":
		kind, advice = ErrCredentials, "let its owner grant CONNECT"
	case strings.HasPrefix(server.Code, "53"):
		advice = "the server has no room for another connection; try again later"
	case strings.HasPrefix(server.Code, "42"), strings.HasPrefix(server.Code, "22"):
		// It repeats what it does not know, which may be a piece of a secret.
		return nil, t.fail(ErrRefused, nil, "cannot connect to %s: the server refuses a parameter of the connection [SQLSTATE %s]; correct what stands behind the ? of the URL, or the options", where, server.Code)
	}
	return nil, t.fail(kind, err, "cannot connect to %s: %s; %s", where, serverText(server), advice)
}

// address is where a connection goes first.
func address(cfg *pgx.ConnConfig) string {
	if strings.HasPrefix(cfg.Host, "/") {
		return cfg.Host
	}
	if strings.Contains(cfg.Host, ":") {
		return fmt.Sprintf("[%s]:%d", cfg.Host, cfg.Port)
	}
	return fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)
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

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTimeout)
	defer cancel()
	_ = conn.Close(ctx) // all has been committed by now, or is not to be
}

// inTransaction runs what belongs together. A transaction that has only looked gives errNothingToKeep.
func (t Target) inTransaction(ctx context.Context, conn *pgx.Conn, run func(pgx.Tx) error) error {
	// Whatever the connection's own default is: what other sessions commit while the rows come is to be seen when they are merged.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return t.explain(ctx, err, "begin")
	}
	err = t.settings(ctx, tx)
	if err == nil {
		err = run(tx)
	}
	if err == nil {
		return t.commit(ctx, conn, tx)
	}
	parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTimeout)
	defer cancel()
	_ = tx.Rollback(parting) // a connection that is lost rolls back by itself
	if errors.Is(err, errNothingToKeep) {
		return nil
	}
	return err
}

// settings are for this transaction alone. Limits on a statement's time are for people's queries; a table takes as long as it takes. Rows
// that a policy hides would be left out in silence: that is to be an error.
func (t Target) settings(ctx context.Context, tx pgx.Tx) error {
	statements := []string{"SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0", "SET LOCAL row_security = off"}
	if tx.Conn().Config().RuntimeParams["lock_timeout"] == "" {
		statements = append(statements, fmt.Sprintf("SET LOCAL lock_timeout = %d", t.lockTimeout().Milliseconds()))
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return t.explain(ctx, err, "set up the transaction")
		}
	}
	return nil
}

func (t Target) lockTimeout() time.Duration {
	if t.LockTimeout == 0 {
		return defaultLockTimeout
	}
	return t.LockTimeout
}
