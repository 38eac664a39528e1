//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
)

// refusals are tables that cannot take the gauges, and what is said of each.
func refusals() []struct {
	name, setup string
	mode        Mode
	kind        error
	words       []string
} {
	const fine = "CREATE TABLE gauges (site text, at timestamptz, value numeric, more json"
	return []struct {
		name, setup string
		mode        Mode
		kind        error
		words       []string
	}{
		{"lacks columns", `CREATE TABLE gauges (site text, value numeric)`, Append, ErrRefused, []string{`ALTER TABLE "public"."gauges" ADD COLUMN "at" timestamp with time zone, ADD COLUMN "more" json`}},
		{"lacks columns to replace", `CREATE TABLE gauges (site text, value numeric)`, Replace, ErrRefused, []string{"ADD COLUMN"}},
		{"rounds", `CREATE TABLE gauges (site text, at timestamptz, value double precision, more json)`, Append, ErrRefused, []string{"value is double precision, and the rows have numeric"}},
		{"cuts digits", `CREATE TABLE gauges (site text, at timestamptz, value numeric(10,2), more json)`, Append, ErrRefused, []string{"value is numeric(10,2)"}},
		{"cuts moments", `CREATE TABLE gauges (site text, at timestamptz(0), value numeric, more json)`, Append, ErrRefused, []string{"at is timestamp(0) with time zone"}},
		{"moves times", `CREATE TABLE gauges (site text, at timestamp, value numeric, more json)`, Append, ErrRefused, []string{"at is timestamp without time zone"}},
		{"pads", `CREATE TABLE gauges (site char(20), at timestamptz, value numeric, more json)`, Append, ErrRefused, []string{"site is character(20)"}},
		{"no index", fine + ")", Upsert, ErrRefused, []string{`CREATE UNIQUE INDEX ON "public"."gauges" ("site", "at")`}},
		{"an index of more columns", fine + ", UNIQUE (site, at, value))", AppendNew, ErrRefused, []string{"CREATE UNIQUE INDEX"}},
		{"an index of some rows", fine + "); CREATE UNIQUE INDEX ON gauges (site, at) WHERE value > 0", AppendNew, ErrRefused, []string{"CREATE UNIQUE INDEX"}},
		{"a deferred index", fine + ", UNIQUE (site, at) DEFERRABLE)", Upsert, ErrRefused, []string{"CREATE UNIQUE INDEX"}},
		{"a view", `CREATE VIEW gauges AS SELECT 1 AS site`, Replace, ErrRefused, []string{"it is a view"}},
		{"a view to append to", `CREATE VIEW gauges AS SELECT 1 AS site`, Append, ErrRefused, []string{"it is a view"}},
		{"a materialized view", `CREATE MATERIALIZED VIEW gauges AS SELECT 1 AS site`, Upsert, ErrRefused, []string{"it is a materialized view"}},
		{"a sequence", `CREATE SEQUENCE gauges`, Append, ErrRefused, []string{"it is a sequence"}},
		{"partitioned", fine + ") PARTITION BY RANGE (at)", Replace, ErrRefused, []string{"it is a partitioned table"}},
		{"a partition", `CREATE TABLE whole (site text, at timestamptz, value numeric, more json) PARTITION BY LIST (site); CREATE TABLE gauges PARTITION OF whole DEFAULT`, Replace, ErrRefused, []string{"partition of another table"}},
		{"inherited", fine + "); CREATE TABLE child () INHERITS (gauges)", Replace, ErrRefused, []string{"inherit"}},
		{"referred to", fine + ", id int UNIQUE DEFAULT 1); CREATE TABLE notes (id int REFERENCES gauges (id) ON DELETE CASCADE)", Replace, ErrRefused, []string{"foreign key"}},
		{"generated", `CREATE TABLE gauges (site text, at timestamptz, value numeric GENERATED ALWAYS AS (1) STORED, more json)`, Append, ErrRefused, []string{"column value", "makes its own values"}},
		{"always an identity", `CREATE TABLE gauges (site text, at timestamptz, value bigint GENERATED ALWAYS AS IDENTITY, more json)`, Append, ErrRefused, []string{"column value", "makes its own values"}},
		{"a rule", fine + "); CREATE RULE none AS ON INSERT TO gauges DO INSTEAD NOTHING", Append, ErrRefused, []string{"it has rules"}},
		{"demands another column", fine + ", who text NOT NULL)", Append, ErrRefused, []string{"column who", "default"}},
	}
}

func TestATableThatCannotTakeTheRowsIsRefusedBeforeAndAfter(t *testing.T) {
	table := tableOf(t, gauges(), gauge(`"a"`, monday, `1`))
	for _, test := range refusals() {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.exec(test.setup)
			target := r.target("gauges", test.mode)
			if test.name != "demands another column" { // the rows may have it
				mustFail(t, target.Check(t.Context(), Expected{Columns: table.Columns, Key: table.Key, KeyIsKnown: true}), test.kind, test.words...)
			}
			_, err := target.Write(t.Context(), filled(table))
			mustFail(t, err, test.kind, test.words...)
		})
	}
}

func TestAnIndexInWhichNullsAreEqualIsNoKey(t *testing.T) {
	r := newRig(t)
	if version := r.rows("SELECT current_setting('server_version_num')::int >= 150000"); version[0] != "t" {
		t.Skip("the server is older than such indexes")
	}
	r.exec("CREATE TABLE gauges (site text, at timestamptz, value numeric, more json, UNIQUE NULLS NOT DISTINCT (site, at))")
	_, err := r.target("gauges", Upsert).Write(t.Context(), filled(tableOf(t, gauges(), gauge(`null`, monday, `1`))))
	mustFail(t, err, ErrRefused, "CREATE UNIQUE INDEX")
}

func TestAPartitionedTableTakesRows(t *testing.T) {
	r := newRig(t)
	r.exec("CREATE TABLE gauges (site text, at timestamptz, value numeric, more json, UNIQUE (site, at)) PARTITION BY LIST (site); CREATE TABLE rest PARTITION OF gauges DEFAULT")
	for range 2 {
		r.write(r.target("gauges", Upsert), tableOf(t, gauges(), gauge(`"a"`, monday, `1`)))
	}
	r.mustHold("SELECT site FROM gauges", "a")
}

func TestColumnsThatNoTableCanHave(t *testing.T) {
	long := strings.Repeat("é", 31) + "x"
	many := make([]string, 1601)
	for i := range many {
		many[i] = fmt.Sprintf("c%d", i)
	}
	for name, test := range map[string]struct {
		columns []string
		words   []string
	}{
		"too long":         {[]string{long + "y"}, []string{long + "y", "64 bytes", "takes 63"}},
		"equal when cut":   {[]string{long + "y", long + "z"}, []string{"64 bytes"}},
		"cut to a name":    {[]string{long, long + "z"}, []string{"same first 63 bytes"}},
		"PostgreSQL's own": {[]string{"ctid"}, []string{"ctid"}},
		"a zero byte":      {[]string{"a\x00b"}, []string{"takes for no name"}},
		"too many":         {many, []string{"1601 columns", "1600"}},
		"none":             {nil, []string{"no column"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var shape frame.Shape
			for _, column := range test.columns {
				shape.Fields = append(shape.Fields, frame.Field{Name: column, Type: frame.Text})
			}
			_, err := r.target("t", Fail).Write(t.Context(), filled(tableOf(t, shape, "{}")))
			mustFail(t, err, ErrRefused, test.words...)
			r.mustBeClean()
		})
	}
	r := newRig(t)
	r.write(r.target("t", Fail), tableOf(t, frame.Shape{Fields: []frame.Field{{Name: long, Type: frame.Text}, {Name: "A", Type: frame.Text}, {Name: "a", Type: frame.Text}}}, "{}"))
}

func TestAKeyThatIsNotInTheTableIsNone(t *testing.T) {
	shape := gauges()
	shape.Select = []string{"site", "value"}
	table := tableOf(t, shape, gauge(`"a"`, monday, `1`))
	r := newRig(t)
	target := r.target("gauges", Upsert)
	mustFail(t, target.Check(t.Context(), Expected{Columns: table.Columns, KeyIsKnown: true}), ErrRefused, "needs the key")
	_, err := target.Write(t.Context(), filled(table))
	mustFail(t, err, ErrRefused, "needs the key", "select all columns of the key")
	shape.Select, shape.Key = []string{"more"}, []string{"more"}
	_, err = target.Write(t.Context(), filled(tableOf(t, shape, gauge(`"a"`, monday, `1`))))
	mustFail(t, err, ErrRefused, "column more of the key is JSON")
	r.mustBeClean()
}

func TestKeysThatAreEqualInPostgresAlone(t *testing.T) {
	shape := frame.Shape{Fields: []frame.Field{{Name: "at", Type: frame.Timestamp}, {Name: "v", Type: frame.Text}}, Key: []string{"at"}}
	table := tableOf(t, shape, `{"at":"2024-01-01T00:00:00.0000001Z","v":"a"}`, `{"at":"2024-01-01T00:00:00.0000002Z","v":"b"}`)
	r := newRig(t)
	_, err := r.target("t", Upsert).Write(t.Context(), filled(table))
	mustFail(t, err, ErrRefused, "same key")
	r.mustBeClean()
	r.exec("CREATE TABLE t (at timestamptz UNIQUE, v text)")
	_, err = r.target("t", Upsert).Write(t.Context(), filled(table))
	mustFail(t, err, ErrRefused, "same key")
	r.mustHold("SELECT count(*) FROM t", "0")
}

func TestATableThatIsLockedIsNotWaitedForForEver(t *testing.T) {
	for _, mode := range []Mode{Replace, Append, AppendNew, Upsert} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t)
			target := r.target("gauges", mode)
			target.LockTimeout = 100 * time.Millisecond
			r.exec("CREATE TABLE gauges (site text, at timestamptz, value numeric, more json, UNIQUE (site, at)); INSERT INTO gauges (site) VALUES ('old')")
			r.exec("BEGIN; LOCK TABLE gauges IN ACCESS EXCLUSIVE MODE")
			table := tableOf(t, gauges(), gauge(`"a"`, monday, `1`))
			if err := target.Check(t.Context(), Expected{Columns: table.Columns}); err != nil {
				t.Errorf("a check waits for no lock: %v", err)
			}
			_, err := target.Write(t.Context(), filled(table))
			mustFail(t, err, ErrFailed, "postgres:gauges", "another session holds a lock", "100ms", "55P03")
			r.exec("COMMIT")
			r.mustHold("SELECT site FROM gauges", "old")
			r.mustBeClean("gauges")
			r.write(target, table)
		})
	}
}

func TestRightsThatAreMissing(t *testing.T) {
	for name, test := range map[string]struct {
		setup string
		mode  Mode
		kind  error
		words []string
	}{
		"to create":          {"REVOKE CREATE ON SCHEMA public FROM public", Fail, ErrCredentials, []string{"may not create it", `GRANT CREATE ON SCHEMA "public" TO "writer"`}},
		"to insert":          {"CREATE TABLE gauges (site text)", Append, ErrCredentials, []string{`GRANT INSERT ON "public"."gauges" TO "writer"`}},
		"to delete":          {"CREATE TABLE gauges (site text); GRANT INSERT ON gauges TO writer", Replace, ErrCredentials, []string{"GRANT DELETE"}},
		"to update":          {"CREATE TABLE gauges (site text); GRANT INSERT, SELECT ON gauges TO writer", Upsert, ErrCredentials, []string{"GRANT UPDATE"}},
		"for temporary ones": {"CREATE TABLE gauges (site text, at timestamptz, value numeric, more json); GRANT INSERT ON gauges TO writer; REVOKE TEMPORARY ON DATABASE %s FROM public", Append, ErrCredentials, []string{"GRANT TEMPORARY"}},
		"to write at all":    {"ALTER ROLE writer IN DATABASE %s SET default_transaction_read_only = on", Fail, ErrRefused, []string{"can only be read"}},
		"to see all rows":    {"CREATE TABLE gauges (site text, at timestamptz, value numeric, more json); GRANT INSERT, SELECT, UPDATE, DELETE ON gauges TO writer; ALTER TABLE gauges ENABLE ROW LEVEL SECURITY; CREATE POLICY add ON gauges FOR INSERT WITH CHECK (true)", Replace, ErrCredentials, []string{"row-level security"}},
		"a schema":           {"DROP SCHEMA public", Fail, ErrRefused, []string{"has no schema that exists", "postgres:SCHEMA.gauges"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.exec("DO $$ BEGIN CREATE ROLE writer LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
			setup := test.setup
			if strings.Contains(setup, "%s") {
				setup = fmt.Sprintf(setup, r.name)
			}
			r.exec(setup)
			before := r.rows("SELECT relname FROM pg_class WHERE relkind = 'r' AND oid > 16384 ORDER BY 1")
			target := r.target("gauges", test.mode)
			target.Connection = server.URL("writer", r.name)
			_, err := target.Write(t.Context(), filled(tableOf(t, gauges(), gauge(`"a"`, monday, `1`))))
			mustFail(t, err, test.kind, test.words...)
			r.mustHold("SELECT relname FROM pg_class WHERE relkind = 'r' AND oid > 16384 ORDER BY 1", before...)
		})
	}
	r := newRig(t)
	target := r.target("gauges", Fail)
	target.Schema = "nowhere"
	mustFail(t, target.Check(t.Context(), Expected{}), ErrRefused, `CREATE SCHEMA "nowhere"`)
}

func TestADatabaseThatLetsNobodyIn(t *testing.T) {
	r := newRig(t)
	const secret = "hunter2-%zz"
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	good := url.URL{Scheme: "postgres", User: url.UserPassword("guarded", secret), Path: "/" + r.name, RawQuery: url.Values{"host": {server.Dir}}.Encode()}
	for name, test := range map[string]struct {
		connection string
		kind       error
		words      []string
	}{
		"wrong password":   {good.String(), ErrCredentials, []string{"user guarded", "password", "28P01", ".pgpass"}},
		"no such user":     {server.URL("stranger", r.name), ErrCredentials, []string{"stranger", "28000"}},
		"no such database": {server.URL("postgres", "nothing"), ErrUnreachable, []string{"3D000", "create the database"}},
		"nobody listens":   {"postgres://me:hunter2-@" + nobody + "/d", ErrUnreachable, []string{"cannot connect to " + nobody, "refused"}},
		"no such host":     {"host=/nowhere/at/all password=hunter2- user=me dbname=d", ErrUnreachable, []string{"/nowhere/at/all", "no such file"}},
		"a broken URL":     {"postgres://me:hunter2-/x@host:port:1/d", ErrRefused, []string{"BRAID_POSTGRES_URL cannot be read", "%XX"}},
		"a broken port":    {"postgres://me:hunter2-@host:hunter2-/d", ErrRefused, []string{"BRAID_POSTGRES_URL"}},
		"broken words":     {"host=x password='hunter2-", ErrRefused, []string{"BRAID_POSTGRES_URL"}},
		"a missing file":   {"postgres://me:hunter2-@host/d?sslrootcert=/nowhere/ca.pem&sslmode=verify-full", ErrRefused, []string{"/nowhere/ca.pem"}},
	} {
		t.Run(name, func(t *testing.T) {
			target := r.target("gauges", Fail)
			target.Connection = test.connection
			err := target.Check(t.Context(), Expected{})
			mustFail(t, err, test.kind, test.words...)
			_, writeErr := target.Write(t.Context(), filled(tableOf(t, gauges())))
			mustFail(t, writeErr, test.kind, test.words...)
			if text := err.Error() + writeErr.Error(); strings.Contains(text, "hunter2") {
				t.Errorf("%s: the password is shown", text)
			}
		})
	}
}

// held is a table that stops coming after its first rows, until the test lets it go on.
func held(table *frame.Table) (fill func(context.Context, io.Writer) (int64, error), under, goOn chan struct{}) {
	under, goOn = make(chan struct{}), make(chan struct{})
	return func(ctx context.Context, w io.Writer) (int64, error) {
		r, pipe := io.Pipe()
		go func() { pipe.CloseWithError(output.Encode(ctx, pipe, output.PGCopy, table, nil)) }()
		defer r.Close()
		if _, err := io.CopyN(w, r, 400_000); err != nil {
			return 0, err
		}
		close(under)
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		_, err := io.Copy(w, r)
		return table.Report.Rows, err
	}, under, goOn
}

func manyGauges(t *testing.T) *frame.Table {
	t.Helper()
	var rows strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&rows, gauge(fmt.Sprintf(`"USGS-%08d"`, i), monday, `1`))
	}
	return tableOf(t, gauges(), strings.TrimSpace(rows.String()))
}

func TestAConnectionThatIsKilledMidwayLeavesNothing(t *testing.T) {
	table := manyGauges(t)
	for _, mode := range []Mode{Fail, Replace} {
		r := newRig(t)
		want := []string{}
		if mode == Replace {
			r.exec("CREATE TABLE gauges (site text, at timestamptz, value numeric, more json); INSERT INTO gauges (site) VALUES ('old')")
			want = []string{"gauges"}
		}
		fill, under, goOn := held(table)
		failed := make(chan error, 1)
		go func() {
			_, err := r.target("gauges", mode).Write(context.Background(), fill)
			failed <- err
		}()
		<-under
		r.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'braid'")
		close(goOn)
		mustFail(t, <-failed, ErrFailed, "nothing was changed", "try again")
		r.awaitAlone()
		r.mustBeClean(want...)
		if mode == Replace {
			r.mustHold("SELECT site FROM gauges", "old")
		}
		r.write(r.target("gauges", mode), table)
	}
}

// awaitAlone waits until no connection of a writer is left.
func (r *rig) awaitAlone() {
	r.t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for r.rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")[0] != "0" {
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatal("a connection of the writer is left")
		}
	}
}

func TestACancelMidwayLeavesNothing(t *testing.T) {
	table := manyGauges(t)
	r := newRig(t)
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	fill, under, _ := held(table)
	failed := make(chan error, 1)
	go func() {
		_, err := r.target("gauges", Upsert).Write(ctx, fill)
		failed <- err
	}()
	<-under
	cancel(cause)
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	r.awaitAlone()
	r.mustBeClean()
}

func TestACancelDuringAStatementOrAWaitForALock(t *testing.T) {
	r := newRig(t)
	r.exec("CREATE TABLE gauges (site text, at timestamptz, value numeric, more json); BEGIN; LOCK TABLE gauges IN ACCESS EXCLUSIVE MODE")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := r.target("gauges", Replace).Write(ctx, filled(tableOf(t, gauges(), gauge(`"a"`, monday, `1`))))
		failed <- err
	}()
	watcher := &rig{t, r.name, server.Connect(t, r.name)}
	for watcher.rows("SELECT count(*) FROM pg_locks WHERE NOT granted")[0] == "0" {
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.exec("COMMIT")
	r.awaitGone(watcher)
	r.mustHold("SELECT count(*) FROM gauges", "0")
}

func (r *rig) awaitGone(watcher *rig) {
	r.t.Helper()
	_ = watcher.conn.Close(context.Background())
	r.awaitAlone()
}

func TestATableThatBreaksOffIsNotWritten(t *testing.T) {
	r := newRig(t)
	table := tableOf(t, gauges(), gauge(`"a"`, monday, `1`))
	lost := errors.New("the table stopped coming")
	for name, fill := range map[string]func(context.Context, io.Writer) (int64, error){
		"with an error": func(ctx context.Context, w io.Writer) (int64, error) {
			_ = output.Encode(ctx, w, output.PGCopy, table, nil)
			return 0, lost
		},
		"before its first line": func(context.Context, io.Writer) (int64, error) { return 0, lost },
	} {
		if _, err := r.target("gauges", Fail).Write(t.Context(), fill); !errors.Is(err, lost) {
			t.Errorf("%s: %v", name, err)
		}
		r.mustBeClean()
	}
	for name, test := range map[string]struct {
		stream, says string
		rows         int64
	}{
		"rows are missing":  {"{\"v\":1,\"columns\":[{\"name\":\"a\",\"type\":\"text\"}],\"key\":[]}\nx\n", "1 rows came of a table of 2", 2},
		"nothing":           {"", "unexpected EOF", 0},
		"another version":   {"{\"v\":2}\n", "version 2", 0},
		"no header":         {"hello\n", "not that of the format", 0},
		"an endless header": {strings.Repeat("[", 5<<20), "longer than", 0},
		"a type of SQL":     {"{\"v\":1,\"columns\":[{\"name\":\"a\",\"type\":\"text); DROP TABLE x; --\"}],\"key\":[]}\n", "not known here", 0},
		"a row too short":   {"{\"v\":1,\"columns\":[{\"name\":\"a\",\"type\":\"text\"},{\"name\":\"b\",\"type\":\"text\"}],\"key\":[]}\nx\n", "missing data", 1},
		"no number":         {"{\"v\":1,\"columns\":[{\"name\":\"a\",\"type\":\"int64\"}],\"key\":[]}\n1\nx\n", "line 2, column a", 2},
		"a stray key":       {"{\"v\":1,\"columns\":[{\"name\":\"a\",\"type\":\"int64\"}],\"key\":[\"z\"]}\n1\n", "column z of the key", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t, r.name, r.conn}
			_, err := r.target("gauges", map[bool]Mode{true: Upsert, false: Fail}[name == "a stray key"]).Write(t.Context(), func(_ context.Context, w io.Writer) (int64, error) {
				_, err := io.WriteString(w, test.stream)
				return test.rows, err
			})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			r.mustBeClean()
		})
	}
}

// The server says these by itself only when it is in real trouble: a trigger says them here.
func TestTroubleOfTheServerIsToldWithWhatToDo(t *testing.T) {
	r := newRig(t)
	table := tableOf(t, gauges(), gauge(`"a"`, monday, `1`))
	for code, words := range map[string][]string{
		"53100": {"run out of room", "try again"}, "53200": {"run out of room"}, "57014": {"stopped the statement"}, "40P01": {"try again"},
		"54000": {"more than PostgreSQL takes"}, "23514": {"constraint"}, "XX000": {"nothing was changed"},
	} {
		r.exec(`DROP TABLE IF EXISTS gauges; CREATE TABLE gauges (site text, at timestamptz, value numeric, more json);
			CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION E'oh\nno' USING ERRCODE = '` + code + `'; END $$;
			CREATE TRIGGER trouble BEFORE INSERT ON gauges FOR EACH ROW EXECUTE FUNCTION trouble()`)
		_, err := r.target("gauges", Append).Write(t.Context(), filled(table))
		var own *Error
		if !errors.As(err, &own) {
			t.Fatal(err)
		}
		mustFail(t, err, own.Kind, append(words, "oh no", code)...)
	}
	r.mustBeClean("gauges")
}

func TestATableThatIsMadeAnewWhileRowsComeIsNotMistaken(t *testing.T) {
	r := newRig(t)
	const create = "CREATE TABLE gauges (site text, at timestamptz, value numeric, more json)"
	r.exec(create)
	fill, under, goOn := held(manyGauges(t))
	failed := make(chan error, 1)
	go func() {
		_, err := r.target("gauges", Append).Write(context.Background(), fill)
		failed <- err
	}()
	<-under
	r.exec("DROP TABLE gauges; " + create)
	close(goOn)
	mustFail(t, <-failed, ErrFailed, "made anew")
	r.mustHold("SELECT count(*) FROM gauges", "0")
}

func TestAConnectionThatIsLostInTheCommitIsLookedInto(t *testing.T) {
	r := newRig(t)
	target := r.target("gauges", Fail)
	var committed, aborted int64
	if err := r.conn.QueryRow(t.Context(), "SELECT txid_current()").Scan(&committed); err != nil {
		t.Fatal(err)
	}
	r.exec("BEGIN")
	if err := r.conn.QueryRow(t.Context(), "SELECT txid_current()").Scan(&aborted); err != nil {
		t.Fatal(err)
	}
	r.exec("ROLLBACK")
	lost := errors.New("unexpected EOF")
	if err := target.settle(t.Context(), committed, lost); err != nil {
		t.Errorf("it was committed: %v", err)
	}
	mustFail(t, target.settle(t.Context(), aborted, lost), ErrFailed, "nothing was changed")
	target.Connection = "host=/nowhere"
	mustFail(t, target.settle(t.Context(), committed, lost), ErrFailed, "look whether they are there")
}
