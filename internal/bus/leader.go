package bus

import (
	"context"
	"fmt"

	"github.com/braidhq/braid/pkg/lease"
)

// leaderSeat is the key of the leading coordinator's slot, which is the only one.
const leaderSeat = "coordinator.0"

// LeaderName tells which coordinator leads; empty when none does. The error wraps messages.ErrUnreachable.
func (b *Bus) LeaderName(ctx context.Context) (string, error) {
	value, _, err := b.get(ctx, bucketLeader, leaderSeat)
	if err != nil {
		return "", fmt.Errorf("ask who leads: %w", err)
	}
	if len(value) == 0 {
		return "", nil
	}
	holding, err := lease.DecodeHolding(value)
	if err != nil {
		return "", fmt.Errorf("ask who leads: %w", err)
	}
	return holding.Worker, nil
}
