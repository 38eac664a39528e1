//go:build unix

package e2e

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// upstream is a fake service in this process, so that a test reads directly what it saw.
type upstream struct {
	*simulator.Simulator
	address string // where all its services are
	base    string // what --service-url gives for usgs-waterdata
}

const service = "usgs-waterdata"

func newUpstream(t *testing.T, config simulator.Config) *upstream {
	t.Helper()
	config.LogSize = 100_000
	ctx, stop := context.WithCancel(context.Background())
	sim := simulator.New(config)
	address, wait, err := sim.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	return &upstream{sim, address, address + simulator.WaterDataBase}
}

func (u *upstream) change(t *testing.T, change func(*simulator.Config)) {
	t.Helper()
	if err := u.Update(change); err != nil {
		t.Fatal(err)
	}
}

// saw waits until n requests have been answered well.
func (u *upstream) saw(t *testing.T, n int64) {
	t.Helper()
	eventually(t, time.Minute, "requests at the upstream", func() bool { return u.Counters().OK >= n })
}

// idle waits until nothing is in flight any more: a killed client's requests end a little later than it does.
func (u *upstream) idle(t *testing.T) {
	t.Helper()
	eventually(t, 10*time.Second, "the upstream to be idle", func() bool { return u.Counters().InFlight == 0 })
}

// sitesOf gives the sites that a request asked for, sorted: they tell its chunk, whichever page it is.
func sitesOf(t *testing.T, e simulator.Exchange) []string {
	t.Helper()
	address, err := url.Parse(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	sites := strings.Split(address.Query().Get("monitoring_location_id"), ",")
	slices.Sort(sites)
	return sites
}

// mustNotAskFor fails when a chunk that was complete has been asked for again.
func mustNotAskFor(t *testing.T, log []simulator.Exchange, complete map[string]bool) {
	t.Helper()
	for _, e := range log {
		for _, site := range sitesOf(t, e) {
			if complete[site] {
				t.Errorf("asked again for %s, which was complete: %s", site, e.URL)
			}
		}
	}
}
