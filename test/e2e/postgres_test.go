//go:build unix

package e2e

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/internal/simulator"
	testserver "github.com/braidhq/braid/internal/testkit/postgres"
)

func newDatabase(t *testing.T) *testserver.Server {
	t.Helper()
	server, err := testserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// databaseRig is a user at a desk with a database of their own.
type databaseRig struct {
	*desk
	t      *testing.T
	name   string
	conn   *pgx.Conn
	server *testserver.Server
}

func (r *databaseRig) one(query string) string {
	r.t.Helper()
	var text string
	if err := r.conn.QueryRow(r.t.Context(), query).Scan(&text); err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	return text
}

func (r *databaseRig) exec(statement string) {
	r.t.Helper()
	if _, err := r.conn.Exec(r.t.Context(), statement); err != nil {
		r.t.Fatalf("%s: %v", statement, err)
	}
}

// braidIn runs a command with the connection in its environment.
func (r *databaseRig) braidIn(connection string, args ...string) outcome {
	r.t.Helper()
	return launch(r.t, r.dir, append(r.env(), connection), "braid", append(args, r.args...)...).wait(limit)
}

func (r *databaseRig) with() string {
	return "BRAID_POSTGRES_URL=" + r.server.URL("postgres", r.name)
}

const tableDigest = "SELECT md5(string_agg(d::text, '|' ORDER BY d::text)) FROM %s d"

func digestOf(table string) string { return strings.Replace(tableDigest, "%s", table, 1) }

func TestATableGoesIntoPostgres(t *testing.T) {
	t.Parallel()
	server := newDatabase(t)
	rig := func(t *testing.T, up *upstream) *databaseRig {
		t.Helper()
		name := server.Database(t)
		return &databaseRig{newDesk(t, up), t, name, server.Connect(t, name), server}
	}
	const sites, chunks = 20, 5

	t.Run("run, results and every mode", func(t *testing.T) {
		up := newUpstream(t, simulator.Config{})
		r := rig(t, up)
		o := r.braidIn(r.with(), "run", r.queryFile("q.yaml", sites, chunks), "-o", "postgres:public.daily", "-o", "t.csv").mustExit(t, 0).mustSay(t, "postgres:public.daily (new)")
		rows := readCSV(t, r.read("t.csv"))
		if got := r.one("SELECT count(*)::text FROM daily"); got != strconv.Itoa(len(rows)) {
			t.Errorf("%s rows, want %d", got, len(rows))
		}
		if got, want := r.one("SELECT value::text FROM daily WHERE daily_id = '"+rows[3]["daily_id"]+"'"), rows[3]["value"]; got != want {
			t.Errorf("the value is %s, want %s", got, want)
		}
		before, asked := r.one(digestOf("daily")), len(up.Requests())
		id := idIn(o)
		r.braidIn(r.with(), "results", id, "-o", "postgres:daily").mustExit(t, 3).mustSay(t, "is there already", "--if-exists")
		r.braidIn(r.with(), "results", id, "-o", "postgres:daily", "--if-exists", "replace").mustExit(t, 0)
		if got := r.one(digestOf("daily")); got != before {
			t.Error("the second export is another table")
		}
		r.braidIn(r.with(), "results", id, "-o", "postgres:daily", "--if-exists", "upsert").mustExit(t, 3).mustSay(t, "CREATE UNIQUE INDEX ON \"public\".\"daily\" (\"")
		r.braidIn(r.with(), "results", id, "-o", "postgres:keyed", "--if-exists", "upsert").mustExit(t, 0)
		r.braidIn(r.with(), "results", id, "-o", "postgres:keyed", "--if-exists", "upsert").mustExit(t, 0).mustSay(t, "0 added or replaced")
		r.braidIn(r.with(), "results", id, "-o", "postgres:keyed", "--if-exists", "append_new").mustExit(t, 0).mustSay(t, "0 added")
		if got := r.one(digestOf("keyed")); got != before {
			t.Error("an upsert of the same rows is another table")
		}
		if len(up.Requests()) != asked {
			t.Error("an export asked the service")
		}
	})

	t.Run("what cannot be is told before anything is sent", func(t *testing.T) {
		up := newUpstream(t, simulator.Config{})
		r := rig(t, up)
		query := r.queryFile("q.yaml", sites, chunks)
		r.exec("CREATE TABLE daily (site text)")
		r.braidIn(r.with(), "run", query, "-o", "postgres:daily").mustExit(t, 2).mustSay(t, "is there already", "nothing was sent")
		r.braidIn(r.with(), "run", query, "-o", "postgres:daily", "--if-exists", "append").mustExit(t, 2).mustSay(t, "ADD COLUMN", "nothing was sent")
		r.braidIn(r.with(), "run", query, "-o", "postgres:nowhere.daily").mustExit(t, 2).mustSay(t, "CREATE SCHEMA")
		r.braidIn("BRAID_POSTGRES_URL=host=/nowhere", "run", query, "-o", "postgres:x").mustExit(t, 1).mustSay(t, "cannot connect", "/nowhere")
		r.run("run", query, "-o", "postgres:x", "--connection", "ware-house").mustExit(t, 2).mustSay(t, "BRAID_POSTGRES_URL_WARE_HOUSE is not set")
		r.run("run", query, "-o", "t.csv", "--if-exists", "append").mustExit(t, 2).mustSay(t, "-o postgres:TABLE")
		r.run("run", query, "-o", "postgres:x", "--if-exists", "merge").mustExit(t, 2).mustSay(t, "append_new")
		r.run("plan", query, "-o", "postgres:x").mustExit(t, 0)

		const secret = "hunter2"
		wrong := url.URL{Scheme: "postgres", User: url.UserPassword("guarded", secret), Path: "/" + r.name, RawQuery: "host=" + url.QueryEscape(server.Dir)}
		o := r.braidIn("BRAID_POSTGRES_URL="+wrong.String(), "run", query, "-o", "postgres:x").mustExit(t, 4).mustSay(t, "password", "guarded")
		given := r.run("run", query, "-o", wrong.String()).mustExit(t, 2).mustSay(t, "BRAID_POSTGRES_URL")
		r.write("bad.yaml", string(r.read("q.yaml"))+"output: {to: '"+wrong.String()+"'}\n")
		inFile := r.run("run", "bad.yaml").mustExit(t, 2).mustSay(t, "BRAID_POSTGRES_URL")
		again := r.run("results", "-o", wrong.String()).mustExit(t, 2)
		if said := o.stderr + given.stderr + given.stdout + inFile.stderr + again.stderr; strings.Contains(said, secret) {
			t.Errorf("a password is shown:\n%s", said)
		}
		if n := len(up.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})

	t.Run("a query file, an interruption and a resume", func(t *testing.T) {
		up := newUpstream(t, simulator.Config{Quota: simulator.Quota{Limit: 2, Window: 3 * time.Second, RetryAfter: true}})
		r := rig(t, up)
		r.write("q.yaml", string(r.read(filepath.Base(r.queryFile("q.yaml", sites, chunks))))+"output: {to: postgres:flow.daily, if_exists: append_new, connection: ware}\n")
		r.exec("CREATE SCHEMA flow")
		connection := "BRAID_POSTGRES_URL_WARE=" + server.URL("postgres", r.name)
		r.braidIn(connection, "run", "q.yaml").mustExit(t, 75)
		r.braidIn(connection, "results", "--partial", "-o", "postgres:flow.daily", "--connection", "ware").mustExit(t, 0).mustSay(t, "flow.daily_partial")
		up.change(t, func(c *simulator.Config) { c.Quota = simulator.Quota{} })
		r.braidIn(connection, "resume", "--wait").mustExit(t, 0).mustSay(t, "postgres:flow.daily (new)")
		r.braidIn(connection, "resume").mustExit(t, 0).mustSay(t, "postgres:flow.daily", "0 added")
		if r.one("SELECT (count(*) > 0)::text FROM flow.daily") != "true" {
			t.Error("the table has no rows")
		}
	})

	t.Run("locked, then repeated by the command it prints", func(t *testing.T) {
		r := rig(t, newUpstream(t, simulator.Config{}))
		r.braidIn(r.with(), "run", r.queryFile("q.yaml", sites, chunks), "-o", "postgres:daily").mustExit(t, 0)
		before := r.one(digestOf("daily"))
		r.exec("BEGIN; LOCK TABLE daily IN ACCESS EXCLUSIVE MODE")
		o := r.braidIn(r.with()+"&lock_timeout=200", "run", "q.yaml", "-o", "postgres:daily", "--if-exists", "replace").mustExit(t, 3).
			mustSay(t, "another session holds a lock", "the query is complete and kept", "--if-exists replace")
		r.exec("COMMIT")
		_, line, _ := strings.Cut(o.stderr, "to write its table: ")
		launch(t, r.dir, append(r.env(), r.with()), "/bin/sh", "-c", strings.TrimSpace(strings.SplitN(line, "\n", 2)[0])).wait(limit).mustExit(t, 0)
		if got := r.one(digestOf("daily")); got != before {
			t.Error("the table is another one")
		}
	})

	t.Run("from a server", func(t *testing.T) {
		up := newUpstream(t, simulator.Config{})
		c := newCluster(t, up, clusterConfig{leaseTTL: 2 * time.Second, inFlight: 4, grace: time.Second})
		r := rig(t, nil)
		r.args = []string{"--server", c.url}
		query := r.queryFile("q.yaml", sites, chunks)
		o := r.braidIn(r.with(), "run", query, "-o", "postgres:daily", "-o", "t.csv", "--if-exists", "upsert").mustExit(t, 0)
		if got, want := r.one("SELECT count(*)::text FROM daily"), len(readCSV(t, r.read("t.csv"))); got != strconv.Itoa(want) {
			t.Errorf("%s rows, want %d", got, want)
		}
		before := r.one(digestOf("daily"))
		r.braidIn(r.with(), "results", idIn(o), "-o", "postgres:daily", "--if-exists", "replace").mustExit(t, 0)
		if got := r.one(digestOf("daily")); got != before {
			t.Error("the second export is another table")
		}
		r.braidIn(r.with(), "results", idIn(o), "-o", "postgres:daily").mustExit(t, 3).mustSay(t, "is there already")
	})
}
