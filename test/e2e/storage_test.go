//go:build unix

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

func TestVerifyTellsWhatIsDamagedAndAResumeFetchesJustThat(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	id := idIn(d.run("run", d.queryFile("q.yaml", damageSites, damageChunks), "-o", "t.csv").mustExit(t, 0))
	want := d.read("t.csv")
	d.run("verify", id).mustExit(t, 0).mustSay(t, "verified", id, "12 results")
	flip(0.5)(t, d.block("RESULTS"))
	d.run("verify", id, "--dry-run").mustExit(t, 3).mustSay(t, "lost", "position ", "braid verify "+id)
	if s := d.status(id); s.Query.State != messages.Complete {
		t.Errorf("a dry run made it %s", s.Query.State)
	}
	var v messages.Verification
	o := d.run("verify", id, "--json").mustExit(t, 3).mustSay(t, "lost", "braid resume "+id)
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
		t.Fatal(err)
	}
	lost := v.Queries[0].Damaged + v.Queries[0].Missing
	if lost == 0 || len(v.Queries[0].Lost) != lost || v.Queries[0].Results+lost != damageChunks {
		t.Errorf("it tells %+v", v)
	}
	before := len(up.Requests())
	d.sh("braid resume "+id+" --data-dir "+d.data).mustExit(t, 0)
	if again := len(up.Requests()) - before; again != lost {
		t.Errorf("the resume sent %d requests for %d lost results", again, lost)
	}
	d.mustEqual("t.csv", want)
	d.run("verify", id).mustExit(t, 0)
}

func TestAStreamThatIsGoneFromTheDiskIsToldLoudly(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"RESULTS", "PARTS", "ITEMS", "EVENTS"} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, simulator.Config{PageRows: 200}) // two sites of a chunk are four pages
			d := newDesk(t, up)
			id := idIn(d.run("run", d.queryFile("q.yaml", damageSites, damageChunks), "-o", "t.csv").mustExit(t, 0))
			want := d.read("t.csv")
			if err := os.RemoveAll(filepath.Dir(filepath.Dir(d.block(stream)))); err != nil {
				t.Fatal(err)
			}
			switch stream {
			case "RESULTS":
				o := d.run("status", id).mustExit(t, 0)
				if s := d.status(id); s.Query.State != messages.Interrupted || s.Query.Stop.Kind != messages.StopDamaged || !strings.Contains(o.stderr, "lost") {
					t.Errorf("it is %s because of %+v; status said:\n%s", s.Query.State, s.Query.Stop, o.stderr)
				}
			case "PARTS":
				d.run("verify", id).mustExit(t, 3).mustSay(t, "12 damaged", "braid resume "+id)
			default: // nothing that counts was in it
				d.run("verify", id).mustExit(t, 0)
				d.run("results", id, "-o", "again.csv").mustExit(t, 0)
				d.mustEqual("again.csv", want)
				return
			}
			d.sh("braid resume "+id+" --data-dir "+d.data).mustExit(t, 0)
			d.mustEqual("t.csv", want)
			d.run("verify", id).mustExit(t, 0)
		})
	}
}

func TestOldQueriesGoWhenAskedAndNothingElse(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	id := idIn(d.run("run", d.queryFile("q.yaml", 4, 2), "-o", "t.csv").mustExit(t, 0))
	d.run("gc").mustExit(t, 0).mustSay(t, "freed", "0 B")
	d.run("gc", "--older-than", "30d").mustExit(t, 0).mustSay(t, "0 B")
	d.run("gc", "--older-than", "1ms", "--dry-run").mustExit(t, 0).mustSay(t, "would remove", id, "2 results", "would free")
	d.run("verify", id).mustExit(t, 0)
	var g messages.Garbage
	if err := json.Unmarshal([]byte(d.run("gc", "--older-than", "1ms", "--json").mustExit(t, 0).stdout), &g); err != nil || len(g.Queries) != 1 || g.Bytes == 0 {
		t.Errorf("it tells %+v, %v", g, err)
	}
	d.run("status", id).mustExit(t, 2)
	if _, err := os.Stat(filepath.Join(d.data, "outputs", id+".json")); !os.IsNotExist(err) {
		t.Errorf("the record of its outputs: %v", err)
	}
	for _, age := range []string{"0s", "-1d", "old"} {
		d.run("gc", "--older-than", age).mustExit(t, 2)
	}
}

func TestAFullResultStreamPausesTheQueryAndRoomFinishesIt(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 5 * time.Millisecond})
	want := calmTable(t, up, lossSites, lossChunks)
	dir := t.TempDir()
	natsPort, api := freePort(t), "127.0.0.1:"+freePort(t)
	url := "nats://127.0.0.1:" + natsPort
	(&member{t: t, dir: dir, name: "nats-server", args: []string{"-a", "127.0.0.1", "-p", natsPort, "-js", "-sd", filepath.Join(dir, "nats")}}).start()
	coordinator := func(store string) *process {
		p := launch(t, dir, nil, "coordinator", "--nats-url", url, "--listen", api, "--lease-ttl", "2s", "--in-flight", "4",
			"--max-store", store, "--service-url", service+"="+up.base, "--log-format", "text")
		eventually(t, limit, "the coordinator to be ready", func() bool {
			answer, err := http.Get("http://" + api + "/readyz")
			if err != nil {
				return false
			}
			_ = answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		})
		return p
	}
	lead := coordinator("1.2MB") // 40 % of it are for results
	launch(t, dir, nil, "worker", "--nats-url", url, "--log-format", "text")
	d := newDesk(t, nil)
	d.args = []string{"--server", "http://" + api}
	file := d.queryFile("q.yaml", lossSites, lossChunks)
	// Queries that have ended take what room there is.
	var last outcome
	for i := range 12 {
		if last = d.run("run", file, "-o", "t.parquet"); last.code != 0 {
			t.Logf("run %d: %s", i, last.stderr)
			break
		}
	}
	last.mustExit(t, 75).mustSay(t, "the message store is full", "braid gc", "braid rm", "--max-store", "braid resume")
	id := idIn(last)
	if s := d.status(id); s.Query.State != messages.Interrupted || s.Query.Stop.Kind != string(messages.StoreFull) {
		t.Fatalf("it is %s because of %+v", s.Query.State, s.Query.Stop)
	}
	kept := d.status(id).Progress.Completed
	o := d.run("gc", "--older-than", "1ms", "--dry-run").mustExit(t, 0)
	for line := range strings.Lines(o.stderr) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == "would" && fields[2] == "query" {
			if fields[3] == id {
				t.Errorf("a query that can be resumed is to be removed: %s", line)
			}
			d.run("rm", fields[3]).mustExit(t, 0)
		}
	}
	if kept == lossChunks {
		t.Error("nothing was left to fetch")
	}
	o = d.run("resume", id, "-o", "t.parquet")
	if o.code != 0 { // not even one query has room
		lead.signal(15)
		lead.wait(limit)
		coordinator("50MB")
		d.run("resume", id, "-o", "t.parquet").mustExit(t, 0)
	}
	d.mustEqual("t.parquet", want)
	d.run("verify", id).mustExit(t, 0)
}

func TestAStreamThatIsLostUnderARunningCoordinatorIsMadeAgainAndTold(t *testing.T) {
	t.Parallel()
	up := lossUpstream(t)
	want := calmTable(t, up, lossSites, lossChunks)
	c := newCluster(t, up, clusterConfig{leaseTTL: 2 * time.Second, inFlight: lossCap, grace: 20 * time.Second})
	d := c.desk()
	file := d.queryFile("q.yaml", lossSites, lossChunks)
	done := idIn(d.run("run", file, "-o", "t.parquet").mustExit(t, 0))
	up.change(t, func(c *simulator.Config) { c.Latency = 150 * time.Millisecond })
	p := d.braid("run", file, "-o", "u.parquet")
	// What is lost can be told once it has been counted, which the leader does each second.
	eventually(t, limit, "results of the second query to be counted", func() bool {
		s := d.status()
		return s.Query.ID != done && s.Progress.Completed > 0
	})
	c.nats.kill()
	if err := os.RemoveAll(filepath.Join(c.dir, "nats", "jetstream", "$G", "streams", "RESULTS")); err != nil {
		t.Fatal(err)
	}
	c.nats.start()
	running := p.wait(limit).mustExit(t, 3).mustSay(t, "the result stream is not the one that held", "braid resume")
	eventually(t, limit, "the first query to be interrupted", func() bool { return d.status(done).Query.State == messages.Interrupted })
	if stop := d.status(done).Query.Stop; stop.Kind != messages.StopDamaged {
		t.Errorf("it is interrupted because of %+v", stop)
	}
	if text := c.lead.Stderr.String(); !strings.Contains(text, "made anew") {
		t.Errorf("the coordinator's log does not say that the stream was gone:\n%s", tail(text))
	}
	for _, id := range []string{done, idIn(running)} {
		d.run("resume", id, "-o", id+".parquet").mustExit(t, 0)
		d.mustEqual(id+".parquet", want)
	}
}
