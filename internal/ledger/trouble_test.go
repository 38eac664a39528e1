//go:build unix

package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	testserver "github.com/braidhq/braid/internal/testkit/postgres"
	"github.com/braidhq/braid/pkg/journal"
)

// ownServer is one that the test may kill, with a ledger that is fed.
func ownServer(t *testing.T) (*testserver.Server, *fed) {
	t.Helper()
	own, err := testserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	name := own.Database(t)
	b := testkit.Bus(t)
	db := Database{Connection: own.URL("postgres", name), Named: "BRAID_LEDGER_URL"}
	l, log, stop := feedFrom(t, b, db)
	return own, &fed{rig: &rig{Ledger: l, t: t, conn: own.Connect(t, name)}, bus: b, log: log, stop: stop}
}

func TestLR_6_6_AServerThatIsKilledOrStoppedIsCaughtUpWith(t *testing.T) {
	own, f := ownServer(t)
	f.publish("run-1", 0, 70)
	f.until("SELECT (count(*) > 0)::text FROM braid.executions", "true")
	for i, end := range []func() error{own.Kill, own.Halt, own.Kill} {
		before := f.Standing().Stored
		if err := end(); err != nil {
			t.Fatal(err)
		}
		from := 70 + 40*i
		f.publish("run-1", from, from+40) // work goes on
		testkit.Until(t, "it says that the database is away", func() bool { return f.Standing().State == Away })
		if after := f.Standing(); after.Stored < before || after.Reason == "" {
			t.Errorf("%+v", after)
		}
		if err := own.Restart(); err != nil {
			t.Fatal(err)
		}
		conn, err := pgx.Connect(t.Context(), f.cfg.Database.Connection)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		f.conn = conn
		f.mustHaveAll("run-1", from+40)
	}
	f.mustHaveRead()
}

// It is this test that is the process to be killed, when it is told so.
func TestMain_AProcessToBeKilled(t *testing.T) {
	ledgerURL, natsURL := os.Getenv("BRAID_TEST_LEDGER"), os.Getenv("BRAID_TEST_NATS") //nolint:forbidigo // this process is started by a test
	if ledgerURL == "" {
		t.Skip("it is started by TestLR_6_6_AWriterThatIsKilled…")
	}
	b, err := bus.Connect(t.Context(), bus.Config{URL: natsURL, Name: "to be killed"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Database: Database{Connection: ledgerURL, Named: "BRAID_TEST_LEDGER"}, Source: b.Journal()})
	if err != nil {
		t.Fatal(err)
	}
	l.Run(t.Context())
}

func TestLR_6_6_AWriterThatIsKilledAtAnyMomentLosesAndDoublesNothing(t *testing.T) {
	db, conn := database(t)
	nats := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	f := &fed{rig: &rig{Ledger: newLedger(t, db), t: t, conn: conn}, bus: testkit.Join(t, nats)}
	f.mustStore()
	for round := range 4 {
		from := 60 * round
		killed := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "TestMain_AProcessToBeKilled")
		killed.Env = append(os.Environ(), "BRAID_TEST_LEDGER="+db.Connection, "BRAID_TEST_NATS="+nats.ClientURL()) //nolint:forbidigo // as this process has it
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		f.publish("run-1", from, from+60)
		// The first rows of the round are seen: it is somewhere between an insert, a commit and an acknowledgement now.
		f.until(fmt.Sprintf("SELECT (count(*) > %d)::text FROM braid.executions WHERE run = 'run-1'", from/2+round), "true")
		if err := killed.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = killed.Wait() // it was killed
		f.mustAddUp()
	}
	_, _, stop := feedFrom(t, f.bus, db)
	defer stop()
	f.mustHaveAll("run-1", 240)
	f.mustHaveRead()
}

// faulty makes the database refuse what is stored with an error of its choice, as often as is said.
func faulty(t *testing.T, conn *pgx.Conn, state string, times int) {
	t.Helper()
	mustExec(t, conn, fmt.Sprintf(`
		CREATE SEQUENCE IF NOT EXISTS public.faults;
		SELECT setval('public.faults', 1, false);
		CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('public.faults') <= %d THEN RAISE EXCEPTION 'a fault of the test' USING ERRCODE = '%s'; END IF; RETURN NEW; END $$;
		DROP TRIGGER IF EXISTS failing ON braid.run_totals;
		CREATE TRIGGER failing BEFORE INSERT ON braid.run_totals FOR EACH ROW EXECUTE FUNCTION public.fail()`, times, state))
}

func TestWhatPassesByItselfIsTriedAgainAndNothingIsRejected(t *testing.T) {
	f := newFed(t)
	f.until("SELECT count(*)::text FROM braid.migrations", "3")
	done := 0
	for name, state := range map[string]string{"full disk": "53100", "out of memory": "53200", "deadlock": "40P01", "serialization": "40001", "timeout": "57014", "shutdown": "57P01", "lock": "55P03", "read only": "25006", "rights": "42501"} {
		faulty(t, f.conn, state, 2)
		f.publish("run-1", done, done+10)
		done += 10
		f.mustHaveAll("run-1", done)
		f.mustHold("SELECT count(*)::text FROM braid.rejects", "0")
		if !strings.Contains(f.log.String(), state) {
			t.Errorf("%s: the log does not tell of %s", name, state)
		}
		testkit.Until(t, "it is well", func() bool { return f.Standing().State == Feeding })
	}
}

func TestAFullDiskAndADatabaseThatCanOnlyBeReadAreToldAsWhatTheyAre(t *testing.T) {
	r := newRig(t)
	faulty(t, r.conn, "53100", 1)
	if err := r.store(t.Context(), []*journal.Record{r.execution(success("run-1", 1, 1))}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "disk") || r.Standing().State != Away {
		t.Errorf("%v", err)
	}
	mustExec(t, r.conn, "DROP TRIGGER failing ON braid.run_totals")
	mustExec(t, r.conn, "ALTER DATABASE "+r.conn.Config().Database+" SET default_transaction_read_only = on")
	r.hangUp(t.Context())
	if err := r.store(t.Context(), []*journal.Record{r.execution(success("run-1", 1, 1))}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "only be read") {
		t.Errorf("%v", err)
	}
}

func TestALimitOfTimeForPeoplesQueriesIsNotOurs(t *testing.T) {
	r := newRig(t)
	mustExec(t, r.conn, "ALTER DATABASE "+r.conn.Config().Database+" SET statement_timeout = '1ms'")
	mustExec(t, r.conn, "ALTER DATABASE "+r.conn.Config().Database+" SET synchronous_commit = off")
	r.hangUp(t.Context())
	var all []*journal.Record
	for number := range 50 {
		all = append(all, r.execution(success("run-1", number, 1)))
	}
	testkit.Until(t, "it is stored", func() bool { return r.store(t.Context(), all) == nil }) // to connect may take more than once
	r.mustAddUp()
	err := pgx.BeginFunc(t.Context(), r.Ledger.conn, func(tx pgx.Tx) error {
		if err := prepareTx(t.Context(), tx, time.Second); err != nil {
			return err
		}
		var commit string
		if err := tx.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit')").Scan(&commit); err != nil {
			return err
		}
		if commit != "on" {
			t.Errorf("a commit does not wait for the disk: %s", commit)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAConnectionThatIsCutInTheMiddleIsMadeAnew(t *testing.T) {
	f := newFed(t)
	f.publish("run-1", 0, 20)
	f.mustHaveAll("run-1", 20)
	for i := range 5 {
		mustExec(t, f.conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'braid ledger'")
		f.publish("run-1", 20+10*i, 30+10*i)
	}
	f.mustHaveAll("run-1", 70)
	f.mustHaveRead()
	f.mustHold("SELECT count(*)::text FROM braid.rejects", "0")
}
