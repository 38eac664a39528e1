//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A host that is unplugged is parted in silence: who connects waits in vain, and goes on when it is plugged in again.
func TestAnUnpluggedHostHearsNothing(t *testing.T) {
	between, err := newNetwork(t)
	if err != nil {
		t.Skipf("LEFT OUT: %v", err)
	}
	c := &cluster{t: t, net: between, dir: t.TempDir()}
	c.startNATS()
	at := strings.TrimPrefix(c.urls[0], "nats://")
	reach := func() error {
		conn, err := net.DialTimeout("tcp", at, 500*time.Millisecond)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	eventually(t, time.Minute, "the server to listen", func() bool { return reach() == nil })
	if err := c.nats[0].host.plug(between.island); err != nil {
		t.Fatal(err)
	}
	// The dialer has two errors for a time that is over.
	if err := reach(); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who connects to a host that is unplugged hears %v, want nothing in time", err)
	}
	if err := c.nats[0].host.plug(between.main); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the server to be reached again", func() bool { return reach() == nil })
}

// A clock that is set moves what a process takes for the time, and nothing that it measures.
func TestAClockIsSet(t *testing.T) {
	if !haveClocks() {
		t.Skipf("LEFT OUT: %v", errNoClocks)
	}
	c := &cluster{t: t, s: schedule{Actions: []action{{Kind: jumpNATS}}}, dir: t.TempDir()}
	c.startNATS()
	m := c.nats[0]
	var said struct {
		Now time.Time `json:"now"`
	}
	eventually(t, time.Minute, "the server to tell the time", func() bool { return says(t, m, &said) })
	for _, off := range []time.Duration{time.Hour, -time.Hour, 0} {
		if err := m.time.Set(off); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		if !says(t, m, &said) {
			t.Fatal("the server does not tell the time")
		}
		if wrong := said.Now.Sub(before) - off; wrong < -time.Second || wrong > time.Minute {
			t.Errorf("a clock that is set by %v is off by %v more", off, wrong)
		}
	}
}

// says asks a NATS server for the time.
func says(t *testing.T, m *member, said any) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.page("varz"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end
	return json.NewDecoder(answer.Body).Decode(said) == nil
}
