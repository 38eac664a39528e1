//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

func TestAReadOnlyTableIsNotReplaced(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	d.run("run", d.queryFile("q.yaml", 2, 1), "-o", "t.csv").mustExit(t, 0)
	want := d.read("t.csv")
	if err := os.Chmod(d.path("t.csv"), 0o444); err != nil {
		t.Fatal(err)
	}
	d.run("results", "-o", "t.csv").mustExit(t, 2).mustSay(t, "t.csv", "is read-only", "write elsewhere")
	before := up.Counters().Requests
	d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 2).mustSay(t, "is read-only")
	if up.Counters().Requests != before {
		t.Error("requests were sent for a table that could not be written")
	}
	d.mustEqual("t.csv", want)
	if err := os.Chmod(d.path("t.csv"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.run("results", "-o", "t.csv").mustExit(t, 0)
	d.mustEqual("t.csv", want)
}

// A client that reads a part of a table and goes leaves nothing behind that would be in the way of the next one.
func TestAClientThatGoesDuringADownloadLeavesTheNextOneItsTable(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	c := newCluster(t, up, clusterConfig{leaseTTL: 5 * time.Second, inFlight: 4, grace: time.Second})
	d := c.desk()
	d.run("run", d.queryFile("q.yaml", 60, 6), "-o", "want.csv").mustExit(t, 0)
	id := d.status().Query.ID
	for range 5 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /v1/queries/%s/results?format=csv HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", id)
		_, err = conn.Read(make([]byte, 1000))
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	// A command that is killed while it writes leaves no table under the name.
	p := d.braid("results", id, "-o", "killed.csv")
	p.kill()
	if data, err := os.ReadFile(d.path("killed.csv")); err == nil && !bytes.Equal(data, d.read("want.csv")) {
		t.Errorf("a half table of %d bytes is under the name", len(data))
	}
	d.run("results", id, "-o", "again.csv").mustExit(t, 0)
	d.mustEqual("again.csv", d.read("want.csv"))
}

// The folder goes away, or is made read-only, between the check and the writing.
func TestAFolderThatIsGoneByTheTimeOfWritingIsToldAndTheExportCanBeRepeated(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 100 * time.Millisecond})
	d := newDesk(t, up)
	if err := os.Mkdir(d.path("out"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := d.braid("run", d.queryFile("q.yaml", 20, 20), "-o", filepath.Join("out", "t.csv"), "--in-flight", "1")
	up.saw(t, 3)
	if err := os.RemoveAll(d.path("out")); err != nil {
		t.Fatal(err)
	}
	o := p.wait(limit).mustExit(t, 3).mustSay(t, "does not exist: create it", "the query is complete and kept")
	before := up.Counters().Requests
	d.run("results", idIn(o), "-o", "t.csv").mustExit(t, 0)
	if up.Counters().Requests != before {
		t.Error("the export sent requests")
	}
}
