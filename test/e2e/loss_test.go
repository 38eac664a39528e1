//go:build unix

package e2e

import (
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

// What a cluster is asked for while its members are lost: two pages a chunk.
const (
	lossSites  = 160
	lossChunks = 80
	lossPages  = 2
	lossCap    = 4
	lossRows   = lossSites * exampleDays
)

func lossUpstream(t *testing.T) *upstream {
	t.Helper()
	return newUpstream(t, simulator.Config{Latency: 30 * time.Millisecond, PageRows: 400})
}

// calmTable is the table of an undisturbed run in one process.
func calmTable(t *testing.T, up *upstream, sites, chunks int) []byte {
	t.Helper()
	d := newDesk(t, up)
	d.run("run", d.queryFile("q.yaml", sites, chunks), "-o", "t.parquet").mustExit(t, 0)
	up.Reset()
	return d.read("t.parquet")
}

func TestLosingAnyOneProcessLosesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		lose func(*cluster) *member
		away time.Duration // before it is started again
	}{
		{"coordinator", func(c *cluster) *member { return c.lead }, 500 * time.Millisecond},
		{"worker", func(c *cluster) *member { return c.work[0] }, 500 * time.Millisecond},
		{"nats", func(c *cluster) *member { return c.nats }, 100 * time.Millisecond},
		// Away for longer than a lease lives: no slot can be trusted any more.
		{"nats for longer than a lease", func(c *cluster) *member { return c.nats }, 3 * time.Second},
	}
	if testing.Short() {
		tests = tests[1:3]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			up := lossUpstream(t)
			want := calmTable(t, up, lossSites, lossChunks)
			c := newCluster(t, up, clusterConfig{leaseTTL: 2 * time.Second, inFlight: lossCap, grace: 20 * time.Second})
			d := c.desk()
			p := d.braid("run", d.queryFile("q.yaml", lossSites, lossChunks), "-o", "t.parquet")
			up.saw(t, lossChunks*lossPages/3)
			lost := test.lose(c)
			lost.kill()
			pass(test.away)
			lost.start()
			o := p.wait(limit).mustExit(t, 0)
			d.mustEqual("t.parquet", want)
			c.mustHaveOneResultEach(d, idIn(o), up)
		})
	}
}

// mustHaveOneResultEach checks a query that is complete after one loss: each position has one result, the cap was kept,
// and what was asked for again is no more than what can have been in hand.
func (c *cluster) mustHaveOneResultEach(d *desk, id string, up *upstream) {
	c.t.Helper()
	s := d.status(id)
	if s.Query.State != messages.Complete || s.Progress.Completed != lossChunks || s.Progress.Rows != lossRows {
		c.t.Errorf("status is %s with %d complete and %d rows, want complete with %d and %d",
			s.Query.State, s.Progress.Completed, s.Progress.Rows, lossChunks, lossRows)
	}
	seen := up.Counters()
	if seen.MostInFlight > lossCap {
		c.t.Errorf("%d requests in flight, want at most %d", seen.MostInFlight, lossCap)
	}
	// A chunk in hand is asked for again from its first page; between its pages it may be without a slot, so that more
	// chunks than slots can be in hand, but no more than the queue hands out: two for each slot.
	if most := int64(2 * lossCap * lossPages); seen.Repeated > most {
		c.t.Errorf("%d pages were asked for again, want at most %d: those of the chunks in hand", seen.Repeated, most)
	}
}
