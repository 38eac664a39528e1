package testkit

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
)

// JetStream looks at a server that listens (bus.ServerConfig.Listen) without the eyes of the bus.
func JetStream(t testing.TB, server *bus.Server) jetstream.JetStream {
	t.Helper()
	closed := make(chan struct{})
	nc, err := nats.Connect(server.ClientURL(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		<-closed
	})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Stored counts the messages that a stream holds.
func Stored(t testing.TB, js jetstream.JetStream, stream string) int {
	t.Helper()
	return int(state(t, js, stream).Msgs) //nolint:gosec // tests store few
}

// Published counts the messages that a stream has ever taken.
func Published(t testing.TB, js jetstream.JetStream, stream string) int {
	t.Helper()
	return int(state(t, js, stream).LastSeq) //nolint:gosec // tests store few
}

func state(t testing.TB, js jetstream.JetStream, stream string) jetstream.StreamState {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State
}
