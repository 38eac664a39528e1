package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// patience decides, for a reader to whom nothing comes although the server counts more, how long it is to wait.
type patience struct {
	bus             *Bus
	stream, subject string
	next            uint64 // that is still to come
	waited          int    // for next
}

const (
	mostWaits     = 20 // for one message, each of them quiet long
	questionLimit = 5 * time.Second
)

// errUndelivered is wrapped when the server has a message that it does not deliver.
var errUndelivered = errors.New("the server does not deliver what it has")

// over tells whether the reader, who has seen the message last and is told that some are left, has seen all that can be
// read. The error is not nil when the server has a message that it does not deliver.
func (p *patience) over(ctx context.Context, last, left uint64) (bool, error) {
	next, err := p.bus.storedAfter(ctx, p.stream, p.subject, last)
	switch {
	case errors.Is(err, messages.ErrUnreachable), errors.Is(err, context.DeadlineExceeded):
		return false, nil // the reader comes back with the server, or learns that it does not
	case err != nil:
		return false, err
	case next == 0:
		p.bus.log.Error("stored messages are gone: they were damaged, or removed just now", "stream", p.stream,
			"subject", p.subject, "messages", left, "after", last)
		return true, nil
	}
	if next != p.next {
		p.next, p.waited = next, 0
	}
	if p.waited++; p.waited > mostWaits {
		return false, fmt.Errorf("%w: %w: message %d of %s", messages.ErrUnreachable, errUndelivered, next, p.stream)
	}
	return false, nil
}

// storedAfter finds the next message behind a sequence that the leader of the stream can read; 0 is none.
func (b *Bus) storedAfter(ctx context.Context, stream, subject string, last uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, questionLimit)
	defer cancel()
	request, err := json.Marshal(map[string]any{"seq": last + 1, "next_by_subj": subject})
	if err != nil {
		return 0, fmt.Errorf("look behind %d of %s: %w", last, stream, err)
	}
	got, err := b.read(ctx, stream, request)
	if err != nil {
		return 0, fmt.Errorf("look behind %d of %s: %w", last, stream, err)
	}
	if got == nil {
		return 0, nil
	}
	return got.Seq, nil
}
