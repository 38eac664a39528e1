//go:build unix

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

func TestALeaseTTLChangedUnderRunningWorkersAsksForNothingTwice(t *testing.T) {
	t.Parallel()
	const sites, chunks, slots = 24, 12, 4
	up := newUpstream(t, simulator.Config{})
	want := calmTable(t, up, sites, chunks)
	c := newCluster(t, up, clusterConfig{leaseTTL: 30 * time.Second, inFlight: slots, grace: 20 * time.Second})
	d := c.desk()
	q := d.queryFile("q.yaml", sites, chunks)
	d.run("run", q, "-o", "before.parquet").mustExit(t, 0) // the workers serve under the old lease
	up.Reset()
	up.change(t, func(c *simulator.Config) { c.Latency = 4 * time.Second }) // longer than an item may be without a sign of life

	p := d.braid("run", q, "-o", "during.parquet")
	eventually(t, limit, "requests under the old lease", func() bool { return up.Counters().InFlight == slots })
	c.lead.signal(syscall.SIGTERM)
	c.lead.wait(limit).mustExit(t, 0)
	for i, arg := range c.lead.args {
		if arg == "--lease-ttl" {
			c.lead.args[i+1] = "1s"
		}
	}
	c.lead.start()
	c.ready()
	after := d.braid("run", q, "-o", "after.parquet")
	p.wait(limit).mustExit(t, 0)
	after.wait(limit).mustExit(t, 0)
	d.mustEqual("during.parquet", want)
	d.mustEqual("after.parquet", want)
	seen := up.Counters()
	if seen.Requests != 2*chunks {
		t.Errorf("%d requests for two queries of %d chunks", seen.Requests, chunks)
	}
	if seen.MostInFlight > slots {
		t.Errorf("%d requests in flight, want at most %d", seen.MostInFlight, slots)
	}
}
