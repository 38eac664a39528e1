//go:build unix

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// database is one of the test's own, without tables.
func database(t testing.TB) (Database, *pgx.Conn) {
	t.Helper()
	name := server.Database(t)
	return Database{Connection: server.URL("postgres", name), Named: "BRAID_LEDGER_URL"}, server.Connect(t, name)
}

// schema describes all that there is of columns, indexes and views.
func schema(t testing.TB, conn *pgx.Conn) []string {
	t.Helper()
	return column(t, conn, `
		SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable FROM information_schema.columns WHERE table_schema = 'braid'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'braid' UNION ALL SELECT viewname || definition FROM pg_views WHERE schemaname = 'braid' ORDER BY 1`)
}

func column(t testing.TB, conn *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func mustExec(t testing.TB, conn *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestFromEachEarlierVersionTheTablesBecomeTheSame(t *testing.T) {
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) < 2 {
		t.Fatalf("%d migrations", len(steps))
	}
	var want []string
	for from := range len(steps) + 1 {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			db, conn := database(t)
			if err := migrateTo(t.Context(), conn, steps[:from], nil); err != nil {
				t.Fatal(err)
			}
			if from >= 1 {
				mustExec(t, conn, "INSERT INTO braid.rejects VALUES ('load', 7, 'braid.load.execution.r.1.1', now(), 'it was there before')")
			}
			var made []int
			if err := db.Migrate(t.Context(), func(s Step) { made = append(made, s.Version) }); err != nil {
				t.Fatal(err)
			}
			if len(made) != len(steps)-from {
				t.Errorf("from version %d the steps %v were made", from, made)
			}
			got := schema(t, conn)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("from version %d:\n%s\nwant\n%s", from, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if kept := column(t, conn, "SELECT reason FROM braid.rejects"); from >= 1 && len(kept) != 1 {
				t.Errorf("what was there is %v now", kept)
			}
			if err := db.Migrate(t.Context(), func(s Step) { t.Errorf("step %d is made twice", s.Version) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestManyProcessesMakeTheTablesOnce(t *testing.T) {
	db, conn := database(t)
	var mu sync.Mutex
	made := map[int]int{}
	var running sync.WaitGroup
	for range 6 {
		running.Go(func() {
			if err := db.Migrate(t.Context(), func(s Step) { mu.Lock(); made[s.Version]++; mu.Unlock() }); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if made[step.version] != 1 {
			t.Errorf("step %d was made %d times", step.version, made[step.version])
		}
	}
	if n := column(t, conn, "SELECT count(*)::text FROM braid.migrations"); n[0] != fmt.Sprint(len(steps)) {
		t.Errorf("%s migrations are noted", n)
	}
}

func TestADatabaseOfANewerBraidIsRefused(t *testing.T) {
	db, conn := database(t)
	if err := db.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "INSERT INTO braid.migrations (version, name, sha256) VALUES ($1, 'of_tomorrow', 'x')", len(steps)+1)
	err = db.Migrate(t.Context(), nil)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "of_tomorrow") || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("%v", err)
	}
	if l := newLedger(t, db); !errors.Is(l.store(t.Context(), nil), ErrNewer) || l.Standing().State != TooNew {
		t.Errorf("it writes all the same: %+v", l.Standing())
	}
}

func TestAMigrationThatWasChangedIsRefused(t *testing.T) {
	db, conn := database(t)
	if err := db.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "UPDATE braid.migrations SET sha256 = 'other' WHERE version = 1")
	if err := db.Migrate(t.Context(), nil); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}

func TestAStepThatFailsLeavesNothing(t *testing.T) {
	_, conn := database(t)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	broken := append(slices.Clone(steps[:1]), migration{2, "broken", "CREATE TABLE braid.half (a int); SELECT 1/0", "sum"})
	if err := migrateTo(t.Context(), conn, broken, nil); err == nil {
		t.Fatal("it is made")
	}
	if half := column(t, conn, "SELECT relname::text FROM pg_class WHERE relname = 'half'"); len(half) > 0 {
		t.Error("half of it is there")
	}
	if err := migrateTo(t.Context(), conn, steps, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestWhoMayNotMakeTablesIsToldWhatToDo(t *testing.T) {
	db, conn := database(t)
	mustExec(t, conn, "DROP ROLE IF EXISTS writer")
	mustExec(t, conn, "CREATE ROLE writer LOGIN")
	t.Cleanup(func() {
		_, _ = conn.Exec(context.Background(), "DROP OWNED BY writer; DROP ROLE writer")
	})
	writer := Database{Connection: server.URL("writer", conn.Config().Database), Named: "--ledger"}
	if err := writer.Migrate(t.Context(), nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "braid ledger migrate") {
		t.Errorf("%v", err)
	}
	if err := db.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := newLedger(t, writer).store(t.Context(), nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "USAGE") {
		t.Errorf("without rights: %v", err)
	}
	mustExec(t, conn, "GRANT USAGE ON SCHEMA braid TO writer; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA braid TO writer")
	if err := newLedger(t, writer).store(t.Context(), nil); err != nil {
		t.Errorf("with what it needs: %v", err)
	}
}

// newLedger is one that is told of records by the test.
func newLedger(t testing.TB, db Database) *Ledger {
	t.Helper()
	l, err := New(Config{Database: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.hangUp(context.Background()) })
	return l
}
