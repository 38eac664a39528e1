//go:build unix

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

// Of the workers all but one are gone for good, with requests in flight: the one that is left has the whole capacity within a bounded time, by
// the target's own count, although a request may take minutes. Nothing is told to be in flight that is not, and the report says what it cannot stand for.
func TestLR_1_3_TheCapacityIsFullAgainAfterAWorkerWasKilled(t *testing.T) {
	t.Parallel()
	const places = 8
	fake := newDashboards(t, superset.Config{Seed: 7, Latency: superset.Latency{Base: superset.Distribution{Low: 200 * time.Millisecond}}})
	c := newLoadCluster(t, fake, loadConfig{environment: environmentText{stage: "DEV", pool: 20, most: places}})
	c.work[2].kill()
	run := c.begin(&load.Profile{
		ID: "killed", Charts: nineCharts(), Axes: axesOf(110, "Gamma"), Seed: 7, Concurrency: places, Deadline: 5 * time.Minute,
		Breaker: load.BreakerRules{Disabled: true},
	})
	c.recorded(c, run.ID, run.Total/20)
	// All places are at the target, so that some of them are the worker's.
	fake.Freeze(freeze)
	eventually(t, limit, "requests of all places in flight", func() bool { return fake.data().InFlight == places })
	c.work[1].kill()
	killed := time.Now()
	eventually(t, limit, "the connections of the dead to be gone", func() bool { return fake.data().InFlight < places })
	eventually(t, 30*time.Second, "the whole capacity at the target again", func() bool { return fake.data().InFlight == places })
	t.Logf("the capacity was full again %s after the kill", time.Since(killed))
	if s := c.status(run.ID); !s.Run.State.Active() || !s.Run.Closed.IsZero() {
		t.Fatalf("a poor test: the run was over before: %s", shown(s))
	}
	c.work[1].start()
	s := c.end(run.ID)
	if s.Run.Ending != load.Completed || s.Progress.Success != run.Total {
		t.Errorf("%s", shown(s))
	}
	if took := s.Run.Ended.Sub(killed); took > 90*time.Second {
		t.Errorf("it took %s from the kill to the end", took)
	}
	if most := fake.data().MaxInFlight; most > places {
		t.Errorf("%d in flight at once, of %d", most, places)
	}
	said := map[string]load.Diagnostic{}
	for _, d := range c.report(run.ID).Diagnostics {
		said[d.Code] = d
	}
	again := said["repeated_attempts"].Count
	if again == 0 || s.Progress.RequestsSent != run.Total+again {
		t.Errorf("%d requests of %d executions, %d of them done again: %s", s.Progress.RequestsSent, run.Total, again, shown(said))
	}
	if d := said["below_capacity"]; d.Count == 0 || d.Count > 60 || !strings.Contains(d.Text, "of 8") {
		t.Errorf("%+v", d)
	}
}
