//go:build unix

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

// until writes the query of 6 sites for days up to one, that goes on from the run before.
func (d *desk) until(name, day, more string) string {
	d.t.Helper()
	d.queryFile("all.yaml", 6, 3)
	return d.write(name, strings.ReplaceAll(string(d.read("all.yaml")), "2024-09-30", day)+more)
}

func TestARunWithSinceAsksOnlyForWhatIsYoungerAndGivesTheWholeTable(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	d.run("run", d.queryFile("whole.yaml", 6, 3), "-o", "whole.csv", "-o", "whole.parquet").mustExit(t, 0)

	const since = "since: {column: time, overlap: 5d}\n"
	first := d.run("run", d.until("q.yaml", "2024-03-31", since), "-o", "grown.csv").mustExit(t, 0)
	before := len(up.Requests())
	second := d.run("run", d.until("q.yaml", "2024-09-30", since), "-o", "grown.csv", "-o", "grown.parquet").mustExit(t, 0)
	second.mustSay(t, "goes on from query "+idIn(first)+", whose newest row is of 2024-03-31", "renewed  36 rows of earlier runs, in all,",
		"6 asked: 6 with data", "6 sites without gaps")
	asked := up.Requests()[before:]
	for _, e := range asked {
		if !strings.Contains(e.URL, "time=2024-03-26%2F2024-09-30") {
			t.Errorf("asked for %s", e.URL)
		}
	}
	d.mustEqual("grown.csv", d.read("whole.csv"))
	d.mustEqual("grown.coverage.csv", d.read("whole.coverage.csv"))
	var m messages.Manifest
	if err := json.Unmarshal(d.read("grown.manifest.json"), &m); err != nil || len(m.Before) != 1 || m.Before[0].Query.ID != idIn(first) || len(m.Before[0].Chunks) == 0 {
		t.Errorf("the manifest does not tell of the run before: %v %+v", err, m.Before)
	}

	before = len(up.Requests())
	third := d.run("run", "q.yaml", "-o", "grown.csv").mustExit(t, 0)
	if sent := up.Requests()[before:]; len(sent) == 0 || !strings.Contains(sent[0].URL, "time=2024-09-25%2F2024-09-30") {
		t.Errorf("the third run sent %v", sent)
	}
	d.mustEqual("grown.csv", d.read("whole.csv"))
	d.run("rm", idIn(second)).mustExit(t, 2).mustSay(t, "query "+idIn(third)+" goes on from it")

	before = len(up.Requests())
	d.run("run", "q.yaml", "-o", "full.csv", "--full").mustExit(t, 0)
	if sent := up.Requests()[before:]; !strings.Contains(sent[0].URL, "time=2023-10-01%2F2024-09-30") {
		t.Errorf("the full run sent %v", sent)
	}
	d.mustEqual("full.csv", d.read("whole.csv"))
	d.run("run", "whole.yaml", "-o", "x.csv", "--full").mustExit(t, 2)
}

func TestAQueryWithSinceGoesOnOnlyFromItsLike(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	const since = "since: {column: time, overlap: 5d}\n"
	d.run("run", d.until("q.yaml", "2024-03-31", since), "-o", "a.csv").mustExit(t, 0)
	for name, text := range map[string]string{
		"an earlier begin": strings.ReplaceAll(string(d.read("q.yaml")), "2023-10-01", "2023-09-01"),
		"another site":     strings.ReplaceAll(string(d.read("q.yaml")), siteName(5), siteName(6)),
		"other columns":    string(d.read("q.yaml")) + "select: [monitoring_location_id, time, value]\n",
	} {
		if o := d.run("run", d.write("other.yaml", text), "-o", "b.csv").mustExit(t, 0); strings.Contains(o.stderr, "goes on from") {
			t.Errorf("%s: %s", name, o.stderr)
		}
	}
	for column, why := range map[string]string{
		"value": "the column is a decimal", "tiem": "declares no field", "unit_of_measure": "the column is a text",
	} {
		d.run("run", d.until("bad.yaml", "2024-03-31", "since: {column: "+column+"}\n"), "-o", "c.csv").mustExit(t, 2).mustSay(t, why, "bad.yaml:")
	}
	d.run("run", d.until("bad.yaml", "2024-03-31", since+"max_rows: 5\n"), "-o", "c.csv").mustExit(t, 2).mustSay(t, "max_rows leaves some out")
}

func TestARunWithSinceNeverHasMoreThanIsAsked(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	const since = "since: {column: time, overlap: 5d}\n"
	d.run("run", d.until("q.yaml", "2024-03-31", since), "-o", "a.csv").mustExit(t, 0)
	if o := d.run("run", d.until("q.yaml", "2024-01-31", since), "-o", "b.csv").mustExit(t, 0); !strings.Contains(o.stderr, "it asks for all") {
		t.Errorf("an earlier end goes on from a later one:\n%s", o.stderr)
	}
	if rows := len(readCSV(t, d.read("b.csv"))); rows != 6*(31+30+31+31) {
		t.Errorf("%d rows", rows)
	}
}

// The interval of time grows with each day, and what is narrowed is another one.
func TestARunWithSinceLetsAnotherIntervalGrowWithTheDays(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	const since = "since: {column: last_modified, overlap: 2d}\n"
	d.run("run", d.until("q.yaml", "today", since), "-o", "a.csv").mustExit(t, 0)
	d.run("run", "q.yaml", "-o", "a.csv").mustExit(t, 0).mustSay(t, "goes on from query")
	d.run("run", d.until("q.yaml", "2024-01-31", since), "-o", "b.csv").mustExit(t, 0)
	if o := d.run("run", d.until("q.yaml", "2024-02-29", since), "-o", "b.csv").mustExit(t, 0); strings.Contains(o.stderr, "goes on from") {
		t.Errorf("days that were over long ago are not younger by last_modified:\n%s", o.stderr)
	}
}
