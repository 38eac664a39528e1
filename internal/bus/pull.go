package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	pullGrace = time.Second // a server that says nothing for so long after a pull's end is not there
	pullLeave = time.Second // for the server to say that it has nothing more for who leaves
)

// Status codes of a pull's answers (ADR-9 and ADR-37 of NATS).
const (
	statusControl    = "100" // goes on
	statusNone       = "404" // there is nothing, and nobody waits
	statusOver       = "408" // the pull's time is over
	statusConflict   = "409" // the consumer is gone or changed, or its leader has
	statusNobody     = "503"
	headerStatus     = "Status"
	headerStatusText = "Description"
)

// puller asks the consumer of a queue.
type puller struct {
	bus              *Bus
	stream, consumer string
}

// pull asks the consumer for at most n messages within wait, and gives each to on as it comes, until all are there, wait is over or ctx
// ends. Whatever the server has sent is given to on: the client's own Fetch turns away when its time is over, and what is on its way then is in
// nobody's hands until the queue's ackWait is over. A connection that was made anew ends it, because the server may know nothing of the pull.
func (q puller) pull(ctx context.Context, n int, wait time.Duration, on func(*nats.Msg)) error {
	nc, renewed := q.bus.nc, q.bus.renewed()
	incoming := make(chan *nats.Msg, n+8) // the messages, and what is said about them
	inbox := nc.NewInbox()
	sub, err := nc.ChanSubscribe(inbox, incoming)
	if err != nil {
		return err
	}
	received := 0
	defer func() {
		for msg := range leave(context.WithoutCancel(ctx), nc, sub, incoming, received == n) {
			if msg.Header.Get(headerStatus) == "" {
				on(msg)
			}
		}
	}()
	ask, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{n, wait})
	if err != nil {
		return err
	}
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+q.stream+"."+q.consumer, inbox, ask); err != nil {
		return err
	}
	late := time.NewTimer(wait + pullGrace)
	defer late.Stop()
	for received < n {
		select {
		case msg := <-incoming:
			if msg.Header.Get(headerStatus) == "" {
				received++
				on(msg)
				continue
			}
			if over, err := ended(msg); over {
				return err
			}
		case <-late.C:
			return nil
		case <-renewed:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// leave ends the subscription and gives what has come until the server knew of it. Nothing does when all has come.
func leave(ctx context.Context, nc *nats.Conn, sub *nats.Subscription, incoming chan *nats.Msg, all bool) func(yield func(*nats.Msg) bool) {
	return func(yield func(*nats.Msg) bool) {
		if all {
			_ = sub.Unsubscribe() // refused only when it is over already
			return
		}
		if sub.Drain() == nil {
			ctx, cancel := context.WithTimeout(ctx, pullLeave)
			_ = nc.FlushWithContext(ctx) // who cannot be asked sends nothing either
			cancel()
		}
		for {
			select {
			case msg := <-incoming:
				if !yield(msg) {
					return
				}
			default:
				return
			}
		}
	}
}

// ended reads what the server says about a pull: whether it is over, and whether the consumer can be asked again.
func ended(msg *nats.Msg) (over bool, err error) {
	switch status, text := msg.Header.Get(headerStatus), msg.Header.Get(headerStatusText); status {
	case statusControl:
		return false, nil
	case statusNone, statusOver:
		return true, nil
	case statusNobody:
		return true, nats.ErrNoResponders
	case statusConflict:
		return true, fmt.Errorf("%w: the queue's consumer: %s", messages.ErrUnreachable, text)
	default:
		return true, errors.New(text)
	}
}
