package braid

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/pkg/messages"
)

// NATS says how to reach the server. Either Credentials or NKey says who we are, where the server asks.
type NATS struct {
	URL         string        // nats://host:port, several separated by commas; tls:// insists on TLS
	Credentials string        // path of a NATS credentials file; empty: none
	NKey        string        // path of a file with the seed of an nkey; empty: none
	CA          string        // path of the certificates that the server's is to be signed by; empty: the system's
	Cert, Key   string        // paths of a certificate of ours and its key, for a server that asks for one; empty: none
	Wait        time.Duration // how long the server may be away at the start; 0: not at all
}

// Durability says what of the stored work survives what; docs/operations.md has the table of it.
type Durability = bus.Durability

// The durabilities. A killed process loses nothing with any of them.
const (
	Fast    = bus.Fast    // an embedded server flushes once a second: a power cut may cost that second
	Safe    = bus.Safe    // an embedded server flushes at each write: a power cut costs nothing
	Cluster = bus.Cluster // three copies on a NATS cluster: one server may be lost with its disk
)

// ParseDurability reads a durability; empty is that of what is there.
func ParseDurability(text string) (Durability, error) { return bus.ParseDurability(text) }

// join connects, and tries until the server is there and ready gives nil, or until n.Wait is over. The role begins the
// subjects of the answers to us, so that the server can keep the answers of roles apart.
func (n NATS) join(ctx context.Context, role, id string, log *slog.Logger, ready func(*bus.Bus) error) (*bus.Bus, error) {
	deadline := time.Now().Add(n.Wait)
	for {
		b, err := bus.Connect(ctx, bus.Config{
			URL: n.URL, Credentials: n.Credentials, NKey: n.NKey, CA: n.CA, Cert: n.Cert, Key: n.Key,
			Name: "braid " + role + " " + id, Inbox: "_INBOX_" + role, Log: log,
		})
		if err == nil {
			if err = ready(b); err == nil {
				return b, nil
			}
			b.Close()
		}
		later := errors.Is(err, messages.ErrUnreachable) || errors.Is(err, bus.ErrNoStreams)
		if !later || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, err
		}
		log.Warn("NATS is not there yet, or not ready, trying again", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}
