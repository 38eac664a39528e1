package ledger

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationWait is how long one migration may take: it may build an index over all that there is.
const migrationWait = 30 * time.Minute

// lockKey is of the advisory lock that migrations and writers hold for one transaction each. It is the same in all builds.
const lockKey = int64(0x6272_6169_646c_6564) // "braidled"

// migration is one step of the schema. Steps are never changed after a release, and never undone.
type migration struct {
	version int
	name    string
	text    string
	sum     string
}

// migrations gives the steps that this build knows, the first one first.
func migrations() ([]migration, error) {
	entries, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, entry := range entries {
		text, err := migrationFiles.ReadFile(path.Join("migrations", entry.Name()))
		if err != nil {
			return nil, err
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != len(all)+1 {
			return nil, fmt.Errorf("migration %s is not number %d", entry.Name(), len(all)+1)
		}
		sum := sha256.Sum256(text)
		all = append(all, migration{version, name, string(text), hex.EncodeToString(sum[:])})
	}
	return all, nil
}

// Step is one migration, as the database and this build know it.
type Step struct {
	Version int       `json:"version"`
	Name    string    `json:"name"`
	Applied time.Time `json:"applied,omitzero"` // zero: not yet
}

// Migrate brings the tables to what this build needs, each step in a transaction of its own, and tells of each step that it has made. Any
// number of processes may do so at once: each step is made once. The error wraps ErrNewer when the database is ahead of this build.
func (d Database) Migrate(ctx context.Context, told func(Step)) error {
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	return migrate(ctx, conn, told)
}

func migrate(ctx context.Context, conn *pgx.Conn, told func(Step)) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	return migrateTo(ctx, conn, steps, told)
}

func migrateTo(ctx context.Context, conn *pgx.Conn, steps []migration, told func(Step)) error {
	// Most often there is nothing to do, and then no right is needed to do it.
	have, err := appliedSteps(ctx, conn)
	if err != nil {
		return err
	}
	if err := agree(steps, have); err != nil || len(have) == len(steps) {
		return err
	}
	for {
		made, err := nextStep(ctx, conn, steps)
		if err != nil {
			return err
		}
		if made == nil {
			return nil
		}
		if told != nil {
			told(*made)
		}
	}
}

// nextStep makes the first step that is not made yet; nil when there is none.
func nextStep(ctx context.Context, conn *pgx.Conn, steps []migration) (*Step, error) {
	ctx, cancel := context.WithTimeout(ctx, migrationWait)
	defer cancel()
	var made *Step
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if err := prepareTx(ctx, tx, 0); err != nil {
			return err
		}
		have, err := appliedSteps(ctx, tx)
		if err != nil {
			return err
		}
		if err := agree(steps, have); err != nil || len(have) == len(steps) {
			return err
		}
		if len(have) == 0 {
			if err := foundation(ctx, tx); err != nil {
				return err
			}
		}
		step := steps[len(have)]
		// By the simple protocol: one text of many statements.
		if _, err := tx.Conn().PgConn().Exec(ctx, step.text).ReadAll(); err != nil {
			return fmt.Errorf("migration %d (%s): %w", step.version, step.name, err)
		}
		made = &Step{Version: step.version, Name: step.name}
		return tx.QueryRow(ctx, "INSERT INTO braid.migrations (version, name, sha256) VALUES ($1, $2, $3) RETURNING applied", step.version, step.name, step.sum).Scan(&made.Applied)
	})
	if err != nil {
		return nil, migrationError(ctx, err)
	}
	return made, nil
}

func migrationError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrNewer), errors.Is(err, ErrRefused):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("migrate the ledger: %w", context.Cause(ctx))
	case sqlState(err) == "42501":
		return fmt.Errorf("migrate the ledger: %w: %s; run braid ledger migrate as a user who may CREATE in the database", ErrRefused, oneLine(err.Error()))
	}
	return fmt.Errorf("migrate the ledger: %w", explained(err))
}

// foundation makes what the first step needs. An owner may have made the schema for us: then no right on the database is needed.
func foundation(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'braid')").Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA braid"); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS braid.migrations (
		version int PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, applied timestamptz NOT NULL DEFAULT clock_timestamp())`)
	return err
}

// appliedStep is what the database says of a step.
type appliedStep struct {
	Version int
	Name    string
	Sum     string
	Applied time.Time
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func appliedSteps(ctx context.Context, q querier) ([]appliedStep, error) {
	var there bool
	// Not by to_regclass: it may remember from before the lock that there was no such table.
	if err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = 'braid' AND c.relname = 'migrations')`).Scan(&there); err != nil {
		return nil, fmt.Errorf("read the ledger's version: %w", explained(err))
	}
	if !there {
		return nil, nil
	}
	rows, err := q.Query(ctx, "SELECT version, name, sha256, applied FROM braid.migrations ORDER BY version")
	if err != nil {
		return nil, fmt.Errorf("read the ledger's version: %w", explained(err))
	}
	have, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appliedStep])
	if err != nil {
		return nil, fmt.Errorf("read the ledger's version: %w", explained(err))
	}
	return have, nil
}

// agree checks that the steps of the database are the first ones that this build knows.
func agree(steps []migration, have []appliedStep) error {
	for i, step := range have {
		switch {
		case step.Version != i+1:
			return fmt.Errorf("%w: the ledger's migrations have no number %d; somebody has edited braid.migrations", ErrRefused, i+1)
		case i >= len(steps):
			return fmt.Errorf("%w: the database is at version %d (%s), and this build knows up to %d; upgrade this process", ErrNewer, have[len(have)-1].Version, have[len(have)-1].Name, len(steps))
		case step.Sum != steps[i].sum:
			return fmt.Errorf("%w: migration %d (%s) of the database is not the one of this build (%s)", ErrRefused, step.Version, step.Name, steps[i].name)
		}
	}
	return nil
}

// Steps lists what was made of the tables and what is still to be made.
func (d Database) Steps(ctx context.Context) ([]Step, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeConn(ctx, conn)
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	have, err := appliedSteps(ctx, conn)
	if err != nil {
		return nil, err
	}
	var all []Step
	for _, step := range have {
		all = append(all, Step{step.Version, step.Name, step.Applied})
	}
	for _, step := range steps[min(len(have), len(steps)):] {
		all = append(all, Step{Version: step.version, Name: step.name})
	}
	return slices.Clip(all), agree(steps, have)
}

// prepareTx begins a transaction of ours: alone among all of them, and not stopped by limits that are for people's queries. What is
// committed is on the disk, whatever the database's default is: it is acknowledged then, and told by nobody again. One round trip.
func prepareTx(ctx context.Context, tx pgx.Tx, statement time.Duration) error {
	_, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $2, true), set_config('idle_in_transaction_session_timeout', '60000', true),
		set_config('lock_timeout', '0', true), set_config('search_path', 'pg_catalog, pg_temp', true),
		set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true), pg_advisory_xact_lock($1)::text`,
		lockKey, strconv.FormatInt(statement.Milliseconds(), 10))
	return err
}
