//go:build unix

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

func TestAWorkerThatIsToldToStopHandsOverWithoutAWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		latency  time.Duration
		grace    time.Duration
		repeated int64 // most pages that may be asked for again
	}{
		{"finishing what it has", 40 * time.Millisecond, 20 * time.Second, 0},
		{"handing back what takes longer than its grace", 1500 * time.Millisecond, 200 * time.Millisecond, lossCap * lossPages},
	}
	if testing.Short() {
		tests = tests[1:]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const ttl = 20 * time.Second // an item that is not handed back comes again after 30 s
			chunks := 30
			if test.latency > time.Second {
				chunks = 6
			}
			up := newUpstream(t, simulator.Config{Latency: test.latency, PageRows: 400})
			up.change(t, func(c *simulator.Config) { c.Latency = 0 })
			want := calmTable(t, up, 2*chunks, chunks)
			up.change(t, func(c *simulator.Config) { c.Latency = test.latency })
			c := newCluster(t, up, clusterConfig{leaseTTL: ttl, inFlight: lossCap, grace: test.grace})
			d := c.desk()
			p := d.braid("run", d.queryFile("q.yaml", 2*chunks, chunks), "-o", "t.parquet")
			up.saw(t, 2)
			c.work[0].signal(syscall.SIGTERM)
			c.work[0].wait(ttl/2).mustExit(t, 0)
			p.wait(limit).mustExit(t, 0)
			d.mustEqual("t.parquet", want)
			if gap := longestGap(up.Requests()); gap > ttl/2 {
				t.Errorf("the upstream was not asked for %s, as long as if an item or a slot had been left to expire", gap)
			}
			if seen := up.Counters(); seen.Repeated > test.repeated || seen.MostInFlight > lossCap {
				t.Errorf("%d pages were asked for again and %d requests were in flight, want at most %d and %d",
					seen.Repeated, seen.MostInFlight, test.repeated, lossCap)
			}
		})
	}
}

// longestGap is the longest time between the starts of two requests that follow each other.
func longestGap(log []simulator.Exchange) time.Duration {
	var longest time.Duration
	for i := 1; i < len(log); i++ {
		longest = max(longest, log[i].Time.Sub(log[i-1].Time))
	}
	return longest
}
