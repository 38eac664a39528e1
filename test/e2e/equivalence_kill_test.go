//go:build unix

package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// What is known of the processes that are killed.
const (
	kills        = 3
	atOnce       = 2 // chunks in hand, each with at most one page that nothing has kept yet
	killPace     = 80 * time.Millisecond
	killedLeases = "2s" // how long the slots of the dead are not free
)

func TestKillsAtRandomMomentsLeaveTheTableAsItIsAndCostWhatWasInHand(t *testing.T) {
	t.Parallel()
	const seed = 20241001
	titles := []string{
		"usgs-waterdata/daily", "usgs-waterdata/daily/sites", "usgs-waterdata/monitoring-locations", "usgs-ngwmn/waterLevelObs",
		"usgs-nwdc/water-use", "open-hydro/readings", "open-bodies/search",
	}
	all := samples()
	seats := newSeats(atATime)
	var subtests crowd
	for i, title := range titles {
		at := slices.IndexFunc(all, func(s *sample) bool { return s.title() == title })
		if at < 0 {
			t.Fatalf("there is no sample %s", title)
		}
		if testing.Short() && i%3 != 0 {
			continue
		}
		subtests.run(t, title, func(t *testing.T) {
			defer seats.take()()
			t.Logf("seed %d, %d", seed, i)
			all[at].killed(t, rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
	subtests.wait()
}

// killed runs the sample in processes that are killed, until one ends by itself.
func (s *sample) killed(t *testing.T, random *rand.Rand) {
	t.Helper()
	up := newUpstream(t, s.config)
	calm := s.undisturbed(t, up)
	up.Reset()
	up.change(t, func(c *simulator.Config) { c.Latency = killPace })
	pace := []string{"--in-flight", "2", "--workers", "1", "--concurrency", "2", "--lease-ttl", killedLeases}
	d := s.desk(t, up)
	var id string
	next := func() *process {
		if id == "" {
			return d.braid(s.run(pace...)...)
		}
		return d.braid(append([]string{"resume", id}, pace...)...)
	}
	killed := 0
	for range kills {
		p := next()
		target := up.Counters().Requests + 1 + random.Int64N(2)
		eventually(t, limit, "requests at the upstream", func() bool { return up.Counters().Requests >= target || !p.running() })
		pass(time.Duration(random.Int64N(int64(killPace * 5 / 4)))) // anywhere between two requests, while one is stored or while it is awaited
		if !p.running() {
			break // the query was complete before
		}
		p.kill()
		killed++
		up.idle(t)
		if id == "" {
			id = idIn(outcome{stderr: p.Stderr.String()})
		}
		t.Logf("killed after %d requests", up.Counters().Requests)
	}
	if killed == 0 {
		t.Fatal("no process was killed before its end")
	}
	next().wait(limit).mustExit(t, 0)
	calm.mustEqual(t, d)
	if n, most := len(up.Requests()), len(calm.log)+killed*atOnce; n > most {
		t.Errorf("%d requests with %d kills, want at most %d:\n%s\nundisturbed:\n%s",
			n, killed, most, requestsIn(up.Requests()), requestsIn(calm.log))
	}
	t.Logf("%d requests undisturbed, %d with %d kills", len(calm.log), len(up.Requests()), killed)
}
