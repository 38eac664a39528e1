package braid

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/pkg/messages"
)

// NATS says how to reach the server.
type NATS struct {
	URL         string        // nats://host:port, several separated by commas
	Credentials string        // path of a NATS credentials file; empty: none
	Replicas    int           // of streams that do not exist yet: 1, or 3 on a cluster
	Wait        time.Duration // how long the server may be away at the start; 0: not at all
}

// connect tries until the server is there with its streams, or until n.Wait is over.
func (n NATS) connect(ctx context.Context, name string, log *slog.Logger) (*bus.Bus, error) {
	deadline := time.Now().Add(n.Wait)
	for {
		b, err := bus.Connect(ctx, bus.Config{URL: n.URL, Credentials: n.Credentials, Name: name, Log: log})
		if err == nil {
			if err = b.Ensure(ctx, bus.AssetConfig{Replicas: n.Replicas}); err == nil {
				return b, nil
			}
			b.Close()
		}
		if !errors.Is(err, messages.ErrUnreachable) || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, err
		}
		log.Warn("NATS is not there yet, trying again", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, err
		}
	}
}
