package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	connectTimeout = 10 * time.Second // unless the connection string says another one
	partingTimeout = 2 * time.Second
	oldestServer   = 120000
	mostSecret     = 4 << 10
)

// Database says which database the ledger is in.
type Database struct {
	// Connection is a URL or key=value; what it does not say comes from PGHOST and the other variables and files of libpq.
	Connection string
	Named      string // what a person knows it by, such as --ledger or BRAID_LEDGER_URL; it stands in messages
	// PasswordFile holds the password alone. It is read at each connection, so that it may change. Empty: the connection's own, if any.
	PasswordFile string
}

// Errors that those of this package wrap.
var (
	// ErrRefused: the connection, the database or the rights in it are not as they must be. It needs somebody to change that.
	ErrRefused = errors.New("ledger refused")
	// ErrNewer: the database was made by a newer Braid.
	ErrNewer = errors.New("ledger of a newer Braid")
	// ErrUnreachable: the database is away, or has no room, or cannot be written to for now.
	ErrUnreachable = errors.New("ledger not reached")
)

// Check finds out whether the connection can be read. It connects to nothing. The error wraps ErrRefused and holds no secret.
func (d Database) Check() error {
	_, err := d.config()
	return err
}

// HoldsPassword tells whether a connection string has a password in it.
func HoldsPassword(connection string) bool {
	if at, err := url.Parse(connection); err == nil && at.Scheme != "" {
		if at.User != nil {
			if _, has := at.User.Password(); has {
				return true
			}
		}
		return at.Query().Has("password") || at.Query().Has("sslpassword")
	}
	// What cannot be read as a URL is taken for one with a password, where it looks like it: a mistake is to be no way to show it.
	return strings.Contains(connection, "://") || strings.Contains(strings.ToLower(strings.Join(strings.Fields(connection), "")), "password=")
}

// config reads the connection string. No error of it may hold any part of the string: what is between its separators cannot be told
// for sure from a password when they are wrong.
func (d Database) config() (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(d.Connection)
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be read as a connection; write postgres://USER@HOST:PORT/DATABASE, or host=… dbname=… user=…, with the special characters of a password written as %%XX in a URL", ErrRefused, d.Named)
	}
	if looksCut(d.Connection, cfg) {
		return nil, fmt.Errorf("%w: %s does not read as one connection: a special character of the password may have ended it early; write @ as %%40, / as %%2F, : as %%3A", ErrRefused, d.Named)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared, so that poolers between us and the server do no harm
	cfg.RuntimeParams["client_encoding"] = "UTF8"
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "braid ledger"
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
	return strings.ContainsAny(cfg.Database, "@:/") || strings.ContainsAny(cfg.User, "@:/") || strings.ContainsAny(cfg.Host, "@") ||
		!strings.HasPrefix(cfg.Host, "/") && strings.Contains(cfg.Host, "/")
}

// Where tells where the ledger is, without what is secret.
func (d Database) Where() string {
	cfg, err := d.config()
	if err != nil {
		return d.Named
	}
	return where(cfg)
}

func where(cfg *pgx.ConnConfig) string {
	database := cfg.Database
	if database == "" {
		database = cfg.User // as the server takes it
	}
	address := fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)
	switch {
	case strings.HasPrefix(cfg.Host, "/"):
		address = cfg.Host
	case strings.Contains(cfg.Host, ":"):
		address = fmt.Sprintf("[%s]:%d", cfg.Host, cfg.Port)
	}
	return fmt.Sprintf("%s, database %s, user %s", address, database, cfg.User)
}

// password reads the password file. Neither its content nor a part of it is in an error.
func (d Database) password() (string, error) {
	file, err := os.Open(d.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("%w: password file of the ledger: %w", ErrRefused, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	text := make([]byte, mostSecret+1)
	n, err := file.Read(text)
	if n == 0 && err != nil {
		return "", fmt.Errorf("%w: the password file of the ledger %s is empty or cannot be read", ErrRefused, d.PasswordFile)
	}
	if n > mostSecret {
		return "", fmt.Errorf("%w: the password file of the ledger %s is longer than a password", ErrRefused, d.PasswordFile)
	}
	return strings.TrimRight(string(text[:n]), "\r\n"), nil
}

// connect makes a connection. Its errors are ErrRefused or ErrUnreachable, and hold no secret.
func (d Database) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	if d.PasswordFile != "" {
		if cfg.Password, err = d.password(); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("connect to the ledger at %s (%s): %w", where(cfg), d.Named, explained(err))
	}
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		closeConn(ctx, conn)
		return nil, fmt.Errorf("connect to the ledger at %s (%s): %w", where(cfg), d.Named, explained(err))
	}
	if version < oldestServer {
		closeConn(ctx, conn)
		return nil, fmt.Errorf("%w: the server at %s is PostgreSQL %d; the ledger needs 12 or later", ErrRefused, where(cfg), version/10000)
	}
	return conn, nil
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTimeout)
	defer cancel()
	_ = conn.Close(ctx) // all has been committed by now, or is not to be
}
