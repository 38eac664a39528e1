//go:build unix

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAWorkerThatFreezesForLongerThanItsLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	const sites, chunks, ttl, frozen = 560, 280, 2 * time.Second, 5 * time.Second
	up := newUpstream(t, simulator.Config{Latency: 50 * time.Millisecond, PageRows: 400})
	want := calmTable(t, up, sites, chunks)
	c := newCluster(t, up, clusterConfig{leaseTTL: ttl, inFlight: lossCap, grace: 20 * time.Second})
	d := c.desk()
	p := d.braid("run", d.queryFile("q.yaml", sites, chunks), "-o", "t.parquet")
	up.saw(t, chunks*lossPages/6)
	c.work[0].signal(syscall.SIGSTOP)
	pass(frozen)
	if !p.running() {
		t.Fatal("the query was over before the worker woke: the test shows nothing")
	}
	c.work[0].signal(syscall.SIGCONT)
	o := p.wait(limit).mustExit(t, 0)
	d.mustEqual("t.parquet", want)
	s := d.status(idIn(o))
	if s.Query.State != messages.Complete || s.Progress.Completed != chunks || s.Progress.Rows != int64(sites*exampleDays) {
		t.Errorf("status is %s with %d complete and %d rows", s.Query.State, s.Progress.Completed, s.Progress.Rows)
	}
	seen := up.Counters()
	// No fence can call back what the frozen worker had handed to its kernel, or was about to send when it was stopped:
	// on waking it may put one request for each slot that it held on the wire before it looks at its clock. It held at
	// most all slots, so the bound is twice the cap.
	if seen.MostInFlight > 2*lossCap {
		t.Errorf("%d requests in flight, want at most %d", seen.MostInFlight, 2*lossCap)
	}
	if most := int64(2 * lossCap * lossPages); seen.Repeated > most {
		t.Errorf("%d pages were asked for again, want at most %d", seen.Repeated, most)
	}
	t.Logf("most in flight %d, repeated %d", seen.MostInFlight, seen.Repeated)
}
