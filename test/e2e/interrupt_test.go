//go:build unix

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

func TestAnInterruptedRunExits130AndThePrintedCommandFinishesTheSameTable(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, simulator.Config{Latency: 40 * time.Millisecond, PageRows: 400})
	calm := newDesk(t, up)
	calm.run("run", calm.queryFile("q.yaml", 60, 30), "-o", "t.csv").mustExit(t, 0)

	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		up.Reset()
		d := newDesk(t, up)
		p := d.braid("run", d.queryFile("q.yaml", 60, 30), "-o", "t.csv", "--in-flight", "4")
		up.saw(t, 15)
		p.signal(sig)
		o := p.wait(limit).mustExit(t, 130)
		o.mustSay(t, "of 30 chunks; none of them will be asked for again")
		complete, before := d.complete(idIn(o)), len(up.Requests())
		if len(complete) == 0 || len(complete) == 60 {
			t.Errorf("%d of 60 sites were complete at the stop, want some", len(complete))
		}
		d.sh(o.line(t, "continue")).mustExit(t, 0)
		mustNotAskFor(t, up.Requests()[before:], complete)
		d.mustEqual("t.csv", calm.read("t.csv"))
		// A stop lets the pages in hand finish: unlike a kill it costs no request.
		if seen := up.Counters(); seen.Repeated != 0 || seen.Gone != 0 {
			t.Errorf("%s: %d pages were asked for again and %d requests given up, want none", sig, seen.Repeated, seen.Gone)
		}
	}
}
