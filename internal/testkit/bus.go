package testkit

import (
	"testing"

	"github.com/braidhq/braid/internal/bus"
)

// Server starts an embedded server on a directory of its own, and stops it when the test ends.
func Server(t testing.TB) *bus.Server {
	t.Helper()
	return ServerOn(t, bus.ServerConfig{Dir: t.TempDir()})
}

// ServerOn starts an embedded server as cfg says, without waiting for the disk at each write.
func ServerOn(t testing.TB, cfg bus.ServerConfig) *bus.Server {
	t.Helper()
	cfg.Durability = bus.Fast
	server, err := bus.StartServer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Bus connects to a server of the test's own, with all streams and buckets made.
func Bus(t testing.TB) *bus.Bus {
	t.Helper()
	return Join(t, Server(t))
}

// Join connects to a server, makes the streams and buckets that are not there, and disconnects when the test ends.
func Join(t testing.TB, server *bus.Server) *bus.Bus {
	t.Helper()
	return Connect(t, bus.Config{Server: server})
}

// Connect is Join for any address.
func Connect(t testing.TB, cfg bus.Config) *bus.Bus {
	t.Helper()
	cfg.Name = t.Name()
	b, err := bus.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Ensure(t.Context(), bus.AssetConfig{}); err != nil {
		t.Fatal(err)
	}
	return b
}
