//go:build unix

package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/test/rig"
)

// limit is for what takes seconds even on a busy machine; a test that reaches it has found something.
const limit = 90 * time.Second

// desk is where one user works: a folder with queries and tables, a data directory, and a service to ask.
type desk struct {
	t    *testing.T
	dir  string
	data string
	args []string // that every command gets
	more []string // of the environment
}

func newDesk(t *testing.T, up *upstream) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	d.data = filepath.Join(d.dir, "data")
	d.args = []string{"--data-dir", d.data}
	if up != nil {
		d.args = append(d.args, "--service-url", service+"="+up.base)
	}
	return d
}

// braid starts a command with the user's settings.
func (d *desk) braid(args ...string) *process {
	d.t.Helper()
	return launch(d.t, d.dir, d.env(), "braid", append(slices.Clone(args), d.args...)...)
}

func (d *desk) env() []string { return append([]string{"HOME=" + d.dir}, d.more...) }

// run runs a command to its end.
func (d *desk) run(args ...string) outcome {
	d.t.Helper()
	return d.braid(args...).wait(limit)
}

// sh runs a line as the user would who copied it from the screen.
func (d *desk) sh(line string) outcome {
	d.t.Helper()
	return launch(d.t, d.dir, d.env(), "/bin/sh", "-c", line).wait(limit)
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) write(name, text string) string {
	d.t.Helper()
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) read(name string) []byte {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return data
}

func (d *desk) mustEqual(name string, want []byte) {
	d.t.Helper()
	if got := d.read(name); !bytes.Equal(got, want) {
		d.t.Errorf("%s has %d bytes that differ from the %d of the undisturbed run", name, len(got), len(want))
	}
}

// status is what braid status --json prints.
func (d *desk) status(id ...string) messages.Status {
	d.t.Helper()
	var s messages.Status
	o := d.run(append([]string{"status", "--json"}, id...)...).mustExit(d.t, 0)
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		d.t.Fatalf("status --json: %v\n%s", err, o.stdout)
	}
	return s
}

// complete gives the sites of the chunks that have a result, from the table that they make without any request.
func (d *desk) complete(id string) map[string]bool {
	d.t.Helper()
	d.run("results", id, "--partial", "-o", d.path("partial.csv")).mustExit(d.t, 0)
	rows := readCSV(d.t, d.read("partial.csv"))
	sites := map[string]bool{}
	for _, row := range rows {
		sites[row["monitoring_location_id"]] = true
	}
	return sites
}

func readCSV(t *testing.T, data []byte) []map[string]string {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, record := range records[min(1, len(records)):] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// idIn finds a query's id in what braid run or submit said first.
func idIn(o outcome) string {
	for line := range strings.Lines(o.stderr) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "query" {
			return fields[1]
		}
	}
	return ""
}

// queryFile is a query for n sites, and days of a year, divided into chunks.
func (d *desk) queryFile(name string, sites, chunks int) string {
	d.t.Helper()
	return d.write(name, rig.DailyQuery(sites, chunks))
}

func siteName(i int) string { return rig.Site(i) }
