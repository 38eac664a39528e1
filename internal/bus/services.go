package bus

import (
	"context"
	"fmt"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	serviceKey    = "service."
	definitionKey = "definition."
)

// PutDefinition stores the text of a service definition under its digest.
func (b *Bus) PutDefinition(ctx context.Context, digest string, text []byte) error {
	return b.putBlob(ctx, bucketServices, definitionKey+digest, text)
}

// Definition reads the text of a service definition. The error wraps messages.ErrNotFound.
func (b *Bus) Definition(ctx context.Context, digest string) ([]byte, error) {
	text, err := b.getBlob(ctx, bucketServices, definitionKey+digest, digest)
	if err != nil {
		return nil, fmt.Errorf("service definition %.12s…: %w", digest, err)
	}
	return text, nil
}

// UpdateService changes the record of a service by compare-and-set; edit sees nil when there is none yet.
func (b *Bus) UpdateService(ctx context.Context, name string, edit func(*messages.Service) *messages.Service) error {
	return b.update(ctx, bucketServices, serviceKey+name, func(old []byte) ([]byte, error) {
		var have *messages.Service
		if len(old) > 0 {
			var err error
			if have, err = messages.DecodeService(old); err != nil {
				return nil, err
			}
		}
		want := edit(have)
		if want == nil {
			return nil, nil
		}
		return want.Encode()
	})
}

// WatchServices calls on with the record of each service and with each change. It returns when ctx ends or the watch is lost.
func (b *Bus) WatchServices(ctx context.Context, on func(*messages.Service, error)) error {
	return b.watch(ctx, bucketServices, serviceKey+"*", func(c *change) {
		if c != nil && len(c.value) > 0 {
			on(messages.DecodeService(c.value))
		}
	})
}

// CloseGate closes a service for all workers until g.Until. Of several refusals the latest time stands.
func (b *Bus) CloseGate(ctx context.Context, g *messages.Gate) error {
	return b.update(ctx, bucketGates, g.Service, func(old []byte) ([]byte, error) {
		if len(old) > 0 {
			if have, err := messages.DecodeGate(old); err == nil && !have.Until.Before(g.Until) {
				return nil, nil
			}
		}
		return g.Encode()
	})
}

// Gate reads the gate of a service; nil when it was never closed.
func (b *Bus) Gate(ctx context.Context, service string) (*messages.Gate, error) {
	data, _, err := b.get(ctx, bucketGates, service)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return messages.DecodeGate(data)
}

// WatchGates calls on with each gate and each change. It returns when ctx ends or the watch is lost.
func (b *Bus) WatchGates(ctx context.Context, on func(*messages.Gate, error)) error {
	return b.watch(ctx, bucketGates, "*", func(c *change) {
		if c != nil && len(c.value) > 0 {
			on(messages.DecodeGate(c.value))
		}
	})
}
