//go:build unix

package chaos

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

const service = "usgs-waterdata"

// upstream is the service that is asked, in this process, behind a proxy.
type upstream struct {
	*simulator.Simulator
	*proxy

	mu   sync.Mutex     // guards busy
	busy map[string]int // requests in flight by the address that they came from
}

// newUpstream starts a service whose proxy listens at an address.
func newUpstream(t *testing.T, config simulator.Config, at string) *upstream {
	t.Helper()
	u := &upstream{Simulator: simulator.New(config), busy: map[string]int{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: u, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	u.proxy = newProxy(t, at, listener.Addr().String())
	u.onlyBack = true // a request that a network delivers after its sender has given it up is nothing that a lease can prevent
	u.settled = func(from net.Addr) bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.busy[from.String()] == 0
	}
	return u
}

// ServeHTTP is http.Handler's.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	count := func(n int) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.busy[r.RemoteAddr] += n
	}
	count(1)
	defer count(-1)
	u.Simulator.ServeHTTP(w, r)
}

// base is what --service-url gives for the service.
func (u *upstream) base() string { return "http://" + u.address() + simulator.WaterDataBase }

// idle waits until nothing is in flight.
func (u *upstream) idle(t *testing.T) {
	t.Helper()
	eventually(t, 20*time.Second, "the upstream to be idle", func() bool { return u.Counters().InFlight == 0 })
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s in vain: %s", limit, what)
		}
	}
}
