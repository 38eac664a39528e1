//go:build unix

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

func TestADataDirectoryThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	d := newDesk(t, up)
	d.write("q.yaml", query)
	d.data = d.write("a-file", "not a folder\n")
	d.args[1] = d.data
	d.run("run", "q.yaml", "-o", "t.csv").mustExit(t, 1).mustSay(t, d.data, "--data-dir")
	d.data = filepath.Join(d.data, "below")
	d.args[1] = d.data
	d.run("list").mustExit(t, 1).mustSay(t, "a-file", "--data-dir")
	if n := up.Counters().Requests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestADataDirectoryHasOneRunningProcessAndOthersAreToldSo(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 500 * time.Millisecond})
	d := newDesk(t, up)
	d.queryFile("q.yaml", 60, 30)
	first := d.braid("run", "q.yaml", "-o", "t.csv", "--in-flight", "2")
	eventually(t, limit, "the first request", func() bool { return up.Counters().Requests > 0 })
	d.run("run", "q.yaml", "-o", "u.csv").mustExit(t, 1).mustSay(t, "in use", d.data, "wait for it")
	// Looking is possible meanwhile, and so is stopping.
	if s := d.status(); !s.Query.State.Active() {
		t.Errorf("the running query is shown as %s", s.Query.State)
	}
	d.run("cancel", d.status().Query.ID).mustExit(t, 0)
	first.wait(limit).mustExit(t, 3)
	up.change(t, func(c *simulator.Config) { c.Latency = 0 })
	d.run("resume").mustExit(t, 0)
	if n := len(readCSV(t, d.read("t.csv"))); n != 60*exampleDays {
		t.Errorf("%d rows after cancel and resume, want %d", n, 60*exampleDays)
	}
}

func TestAnAddressInUseIsNamed(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	d := newDesk(t, up)
	d.write("q.yaml", query)
	d.run("run", "q.yaml", "-o", "t.csv", "--listen", address).mustExit(t, 1).mustSay(t, address, "in use", "choose another")
	if n := up.Counters().Requests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	c := newCluster(t, up, clusterConfig{leaseTTL: 2 * time.Second, inFlight: 2, grace: time.Second})
	second := launch(t, d.dir, d.env(), "coordinator", "--nats-url", c.natsURL, "--listen", address)
	second.wait(limit).mustExit(t, 1).mustSay(t, address, "in use", "choose another")
	third := launch(t, d.dir, d.env(), "worker", "--nats-url", c.natsURL, "--health", address)
	third.wait(limit).mustExit(t, 1).mustSay(t, address, "in use", "choose another")
}

func TestANATSServerThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	url := "nats://127.0.0.1:" + freePort(t)
	dir := t.TempDir()
	for _, name := range []string{"coordinator", "worker"} {
		p := launch(t, dir, []string{"HOME=" + dir}, name, "--nats-url", url, "--nats-wait", "1s")
		p.wait(limit).mustExit(t, 1).mustSay(t, url, "not reachable")
	}
	d := newDesk(t, nil)
	d.args = []string{"--server", "http://127.0.0.1:" + freePort(t)}
	d.run("list").mustExit(t, 1).mustSay(t, d.args[1])
}

func TestATableThatCannotBeWrittenAtTheEndIsWrittenElsewhereWithoutARequest(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 50 * time.Millisecond})
	d := newDesk(t, up)
	d.queryFile("q.yaml", 20, 10)
	d.write("out/README", "the table goes here\n")
	p := d.braid("run", "q.yaml", "-o", "out/t.csv", "--in-flight", "2")
	up.saw(t, 1)
	if err := os.RemoveAll(d.path("out")); err != nil {
		t.Fatal(err)
	}
	o := p.wait(limit).mustExit(t, 3)
	o.mustSay(t, "out/t.csv", "create it", "complete and kept", "braid results "+idIn(o))
	asked := up.Counters().Requests
	d.run("results", idIn(o), "-o", "t.csv").mustExit(t, 0)
	if n := len(readCSV(t, d.read("t.csv"))); n != 20*exampleDays {
		t.Errorf("%d rows, want %d", n, 20*exampleDays)
	}
	if now := up.Counters().Requests; now != asked {
		t.Errorf("the second try to write sent %d requests", now-asked)
	}
}
