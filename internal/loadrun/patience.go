package loadrun

import (
	"context"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	// ackMargin is by how much longer than the places of a dead worker its items are left with it. A worker that lives and reaches the store
	// tells of itself every two seconds, however long its request takes; one that does not reach it has lost its places, and has cut what
	// it had in flight, before the item is another's.
	ackMargin = 3 * time.Second
	ackLeast  = 8 * time.Second // some signs of life may be late on a busy machine
)

// patience is for how long the places of the environment, and with them an item, are left with a worker that is silent.
func (c *Controller) patience(ctx context.Context, environment string) (places, item time.Duration, err error) {
	places = c.cfg.LeaseTTL
	if c.ports.Services != nil {
		err := c.ports.Services.UpdateService(ctx, environment, func(have *messages.Service) *messages.Service {
			if have != nil && have.LeaseTTL > 0 {
				places = have.LeaseTTL
			}
			return nil
		})
		if err != nil {
			return 0, 0, fmt.Errorf("read the record of %s: %w", environment, err)
		}
	}
	return places, max(ackLeast, places+ackMargin), nil
}
