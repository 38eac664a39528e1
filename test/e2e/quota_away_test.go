//go:build unix

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// NATS stands still, or is killed, while three workers spend a pool: the upstream's own count says that no more is sent than the limit
// less what is held back, while it is away and afterwards.
func TestNATSAwayAllowsNoMoreThanTheQuota(t *testing.T) {
	t.Parallel()
	const quotaLimit, held = 60, 24
	for name, lose := range map[string]func(*cluster){
		"stopped": func(c *cluster) {
			c.nats.signal(syscall.SIGSTOP)
			pass(6 * time.Second)
			c.nats.signal(syscall.SIGCONT)
		},
		"killed": func(c *cluster) {
			c.nats.kill()
			pass(time.Second)
			c.nats.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, simulator.Config{Latency: 300 * time.Millisecond, Quota: simulator.Quota{Limit: quotaLimit, Window: time.Hour}})
			c := newCluster(t, up, clusterConfig{leaseTTL: 10 * time.Second, inFlight: 12, grace: 20 * time.Second})
			third := &member{t: t, dir: c.dir, name: "worker", args: []string{"--nats-url", c.natsURL, "--id", "worker-2", "--health", "", "--log-format", "text"}}
			third.start()
			pass(time.Second) // until all have heard of one another
			d := c.desk()
			file := d.queryFile("q.yaml", 120, 120)
			d.write("q.yaml", string(d.read("q.yaml"))+"run: {hold_back: 24}\n")
			p := d.braid("run", file, "-o", "t.csv")
			up.saw(t, 14)
			lose(c)
			o := p.wait(limit)
			seen := up.Counters()
			if seen.Requests > quotaLimit-held || seen.Requests < 14 {
				t.Errorf("%d requests were sent, at most %d may", seen.Requests, quotaLimit-held)
			}
			if o.code != 75 || !strings.Contains(o.stderr, "24 held back") {
				t.Errorf("it ended with %d:\n%s", o.code, tail(o.stderr))
			}
		})
	}
}
