//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

func manifestIn(t *testing.T, data []byte) *messages.Manifest {
	t.Helper()
	m, err := messages.DecodeManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBesideATableStandsWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{PageRows: 200, MaxQueryRows: 1000})
	d := newDesk(t, up)
	o := d.run("run", d.queryFile("q.yaml", 6, 1), "-o", "flow.parquet", "-o", "flow.csv").mustExit(t, 0)
	o.mustSay(t, "sites    6 asked: 6 with data, 0 said to be empty, 0 not fetched   → flow.coverage.csv",
		"period   2023-10-01 … 2024-09-30: 6 sites without gaps, 0 with gaps", "unit ft^3/s",
		`pandas.read_parquet("flow.parquet")`, "cite it  flow.manifest.json")
	m := manifestIn(t, d.read("flow.manifest.json"))
	if m.Query.State != messages.Complete || m.Requests.Missing != 0 || m.Service.Name != service || !json.Valid(m.Spec) {
		t.Errorf("%+v", m.Query)
	}
	for i, file := range []string{"flow.parquet", "flow.csv"} {
		sum := sha256.Sum256(d.read(file))
		if out := m.Outputs[i]; out.Path != file || out.SHA256 != hex.EncodeToString(sum[:]) || out.Rows != 6*exampleDays {
			t.Errorf("%+v", out)
		}
	}
	rows, pages := int64(0), int64(0)
	for _, c := range m.Chunks {
		inPages := int64(0)
		for n, page := range c.Pages {
			if page.Page != n || page.Status != 200 || page.Tries < 1 || page.Bytes == 0 || page.Sent.IsZero() || len(page.SHA256) != 64 {
				t.Errorf("chunk %s: %+v", c.Position, page)
			}
			inPages += page.Rows
		}
		if inPages != c.Rows || !strings.Contains(c.URL, "monitoring_location_id=") {
			t.Errorf("chunk %s has %d rows, its pages %d: %s", c.Position, c.Rows, inPages, c.URL)
		}
		rows, pages = rows+c.Rows, pages+int64(len(c.Pages))
	}
	if len(m.Chunks) < 2 || rows != 6*exampleDays || pages != up.Counters().OK {
		t.Errorf("%d chunks with %d rows in %d pages; the service answered %d requests", len(m.Chunks), rows, pages, up.Counters().OK)
	}
	if got := manifestIn(t, []byte(d.run("manifest").mustExit(t, 0).stdout)); len(got.Chunks) != len(m.Chunks) || len(got.Outputs) != 0 {
		t.Errorf("braid manifest has %d chunks", len(got.Chunks))
	}
	d.run("results", "-o", "alone.csv", "--table-only").mustExit(t, 0)
	if _, err := os.Stat(d.path("alone.manifest.json")); err == nil {
		t.Error("--table-only wrote a manifest")
	}
}

func TestAPartialTableKeepsOffTheNameOfTheFinishedOne(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Quota: simulator.Quota{Limit: 2, Window: time.Hour}})
	d := newDesk(t, up)
	d.run("run", d.queryFile("q.yaml", 6, 3), "-o", "flow.csv").mustExit(t, 75)
	d.run("results", "-o", "flow.csv").mustExit(t, 3)
	d.run("results", "-o", "flow.csv", "--partial").mustExit(t, 0).mustSay(t, "flow.partial.csv", "not fetched   → flow.partial.coverage.csv")
	if _, err := os.Stat(d.path("flow.csv")); err == nil {
		t.Error("the partial table is under the final name")
	}
	if m := manifestIn(t, d.read("flow.partial.manifest.json")); m.Requests.Missing != 1 || len(m.Missing) != 1 || m.Query.State != messages.Interrupted {
		t.Errorf("%+v %v", m.Requests, m.Missing)
	}
	partial := d.read("flow.partial.csv")
	d.run("results", "-o", "flow.csv", "--partial", "--final-name").mustExit(t, 0)
	d.mustEqual("flow.csv", partial)
	d.run("results", "-o", "elsewhere.csv", "--partial").mustExit(t, 0)
	d.mustEqual("elsewhere.csv", partial)
	d.run("results", "-o", "elsewhere.csv", "--final-name").mustExit(t, 2)
}

func TestRulesOfVerifyThatDoNotHoldEndTheRunWithAnError(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	file := d.queryFile("q.yaml", 2, 1)
	text := string(d.read("q.yaml"))
	d.write("none.yaml", text+"verify: {coverage: require}\n")
	d.run("run", "none.yaml", "-o", "all.csv").mustExit(t, 0)
	d.write("old.yaml", strings.ReplaceAll(strings.ReplaceAll(text, "2023-10-01", "1800-01-01"), "2024-09-30", "1800-01-02")+"verify: {coverage: require}\n")
	d.run("run", "old.yaml", "-o", "old.csv").mustExit(t, 3).mustSay(t, "4 values without all rows, the first is")
	d.run("run", file, "-o", "plain.csv").mustExit(t, 0)
}

func TestWhatStandsBesideATableTakesThePlaceOfNothingElse(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	d.queryFile("q.yaml", 2, 1)
	d.run("run", "q.yaml", "-o", "flow.parquet", "-o", "flow.coverage.csv").mustExit(t, 2).mustSay(t, "is a table to be written itself")
	d.run("run", "q.yaml", "-o", "y.csv", "-o", "./y.csv").mustExit(t, 2).mustSay(t, "written twice")
	d.write("pre.manifest.json", "{}")
	d.run("run", "q.yaml", "-o", "pre.csv").mustExit(t, 2).mustSay(t, "nothing that braid wrote")
	d.write("in.coverage.csv", "parameter,value,state,rows\nx,"+siteName(0)+",rows,1\n")
	d.write("again.yaml", strings.ReplaceAll(string(d.read("q.yaml")), "monitoring_location_id: ["+siteName(0)+", "+siteName(1)+"]", "monitoring_location_id: {file: in.coverage.csv, column: value}"))
	d.run("run", "again.yaml", "-o", "in.parquet").mustExit(t, 2).mustSay(t, "the query reads it")
	d.run("run", "again.yaml", "-o", "out.parquet").mustExit(t, 0)
	d.run("results", "-o", "out.csv").mustExit(t, 0)
	if m := manifestIn(t, d.read("out.manifest.json")); len(m.Outputs) != 2 || m.Outputs[1].Path != "out.parquet" {
		t.Errorf("%+v", m.Outputs)
	}
	d.run("run", "q.yaml", "-o", "out.csv").mustExit(t, 0).mustSay(t, "proved out.parquet too")
}

func TestTheCoverageOfTheFirstRowsPromisesNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	d.queryFile("q.yaml", 3, 0)
	d.write("first.yaml", string(d.read("q.yaml"))+"max_rows: 400\nverify: {coverage: require}\n")
	d.run("run", "first.yaml", "-o", "t.csv").mustExit(t, 3)
	coverage := string(d.read("t.coverage.csv"))
	if strings.Contains(coverage, ",empty,") || strings.Contains(coverage, siteName(1)+",rows,") {
		t.Errorf("the coverage of a table that is cut says\n%s", coverage)
	}
}

func TestAQueryThatIsKeptIsToldOfWhenItIsRunAnew(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Quota: simulator.Quota{Limit: 2, Window: time.Hour}})
	d := newDesk(t, up)
	o := d.run("run", d.queryFile("q.yaml", 6, 3), "-o", "t.csv").mustExit(t, 75)
	d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 75).mustSay(t, "query "+idIn(o)+" asks the same, and 2 of its 3 chunks are kept; this run asks for all anew\ninstead  braid resume "+idIn(o))
}
