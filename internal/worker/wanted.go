package worker

import (
	"context"
	"errors"
	"sync"

	"github.com/braidhq/braid/pkg/lease"
)

var errUnwanted = errors.New("the item is not to be run any more")

// slotWhileWanted waits for a slot until the item is not to be run any more: then it gives none, and no error. Those that hold
// the slots may take long, and what waits behind them keeps the queue from giving out the rest.
func (c *chunk) slotWhileWanted(ctx context.Context) (*lease.Slot, error) {
	waiting, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			news := c.w.board.news()
			if c.wanted() != nil {
				end(errUnwanted)
				return
			}
			select {
			case <-news:
			case <-waiting.Done():
				return
			}
		}
	})
	slot, err := c.in.slots.Acquire(waiting)
	end(nil)
	watch.Wait()
	if err != nil && errors.Is(context.Cause(waiting), errUnwanted) {
		return nil, nil //nolint:nilnil // the caller looks again whether the item is wanted
	}
	return slot, err
}
