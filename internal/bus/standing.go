package bus

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	standingWithin = 2 * time.Second // all of a batch
	standingAtOnce = 16
)

// standing reads what is queued in the place of items that the stream refused, and gives those that are not themselves queued.
// What cannot be read counts as the item itself: whoever waits for it publishes it again when nothing is heard of it for long.
func (b *Bus) standing(ctx context.Context, items []*messages.Item) []messages.Refused {
	if len(items) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, standingWithin)
	defer cancel()
	queued := slices.Clone(items)
	s, err := b.js.Stream(ctx, streamItems)
	if err == nil {
		var reading errgroup.Group
		reading.SetLimit(standingAtOnce)
		for i, item := range items {
			reading.Go(func() (err error) {
				queued[i], err = lookUp(ctx, s, item)
				return err
			})
		}
		err = reading.Wait()
	}
	if err != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
		b.log.Warn("it is not known which items are queued already", "error", translate(err))
	}
	var refused []messages.Refused
	for i, item := range items {
		if have := queued[i]; have == nil || have.Run != item.Run || !have.Dispatched.Equal(item.Dispatched) {
			refused = append(refused, messages.Refused{Item: item, Queued: have})
		}
	}
	return refused
}

// lookUp gives what is queued in the place of an item: nil when nothing is, the item itself when that cannot be told.
func lookUp(ctx context.Context, s jetstream.Stream, item *messages.Item) (*messages.Item, error) {
	msg, err := s.GetLastMsgForSubject(ctx, itemSubject(item.Service, item.Query, item.Position))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil //nolint:nilnil // nothing is queued
	}
	if err != nil {
		return item, err
	}
	have, err := messages.DecodeItem(msg.Data)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // who takes what nobody can read removes it
	}
	return have, nil
}
