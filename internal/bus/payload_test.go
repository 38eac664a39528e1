package bus_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
)

// small starts a server, not ours, that takes messages of at most this many bytes, and gives its URL.
func small(t *testing.T, payload int32) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), MaxPayload: payload, NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start() // ends with the shutdown below
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(testkit.Patience) {
		t.Fatal("the server does not start")
	}
	return s.ClientURL()
}

func TestAServerOfTooSmallMessagesIsRefusedWithTheSettingToChange(t *testing.T) {
	_, err := bus.Connect(t.Context(), bus.Config{URL: small(t, 256<<10-1), Timeout: 5 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "max_payload") || !strings.Contains(err.Error(), "262144") {
		t.Errorf("got %v, want the setting and the least value of it", err)
	}
}

func TestTheSmallestServerThatIsAcceptedTakesLargeResultsAndSpecs(t *testing.T) {
	b := testkit.Connect(t, bus.Config{URL: small(t, 256<<10)})
	for i, size := range []int{100 << 10, 190 << 10, 200 << 10, 2 << 20} {
		rows := noise(size)
		h := testkit.Header("q", i, 1)
		mustCommit(t, b, "attempt-"+string(h.Position), h, rows)
		if _, have, err := b.Result(t.Context(), "q", h.Position); err != nil || !bytes.Equal(have, rows) {
			t.Errorf("%d bytes of %d came back, %v", len(have), size, err)
		}
		spec := noise(size)
		if have, err := b.LoadSpec(t.Context(), create(t, b, "q"+string(h.Position), spec)); err != nil || !bytes.Equal(have, spec) {
			t.Errorf("%d bytes of a spec of %d came back, %v", len(have), size, err)
		}
	}
}
