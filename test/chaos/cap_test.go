//go:build unix

package chaos

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// Without faults, and with work waiting, the cap is used: at least 95 of 100 of it, as the upstream sees it.
func TestTheCapIsUsed(t *testing.T) {
	if os.Getenv("CHAOS_ALONE") == "" {
		t.Skip("beside the tests of other packages nobody gets the processors that he needs: make cap runs it by itself, in CI too")
	}
	s := schedule{Chunks: 60}
	want := calmTable(t, s)
	s.Upstream = simulator.Config{Latency: 600 * time.Millisecond, LogSize: 10_000}
	s.Pages = 1
	x := &trial{t: t, schedule: s, up: newUpstream(t, s.Upstream, loopback)}
	x.c = newCluster(t, s, x.up, nil)
	x.o = newObserver(t, x.c.urls)
	var heart pulse
	stop := heart.start()
	x.query = x.submit()
	table := x.drive(time.Now(), func() {})
	stop()
	x.up.idle(t)
	x.judge(table, want, 0)
	log := x.up.Requests()
	used := meanInFlight(log) / slots
	least := 0.95
	if heart.mean() > 500*time.Microsecond {
		least = 0.85
		t.Logf("THIS MACHINE IS BUSY: who wakes up waits %v for a processor on average. 85 of 100 are wanted instead of 95", heart.mean())
	}
	t.Logf("%.1f of 100 of the cap were used", 100*used)
	if used < least {
		t.Errorf("%.1f of 100 of the cap were used while work was waiting, want %.0f", 100*used, 100*least)
	}
	if seen := x.up.Counters(); seen.Requests != int64(s.Chunks) {
		t.Errorf("%d requests for %d chunks of one page", seen.Requests, s.Chunks)
	}
}

// meanInFlight is the mean number of requests in flight from when as many as there are slots had come until the last one came: in
// between, work was always waiting.
func meanInFlight(log []simulator.Exchange) float64 {
	var arrivals []time.Time
	for _, e := range log {
		arrivals = append(arrivals, e.Time)
	}
	slices.SortFunc(arrivals, time.Time.Compare)
	if len(arrivals) <= slots {
		return 0
	}
	from, to := arrivals[slots-1], arrivals[len(arrivals)-1]
	var busy time.Duration
	for _, e := range log {
		begin, end := e.Time, e.Time.Add(e.Duration)
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		busy += max(0, end.Sub(begin))
	}
	return busy.Seconds() / to.Sub(from).Seconds()
}
