package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	readyWait = 2500 * time.Millisecond // for an answer; whoever asks for our health does not wait long
	readyFor  = time.Second             // an answer stands, so that many who ask cost no more than one
	readyKey  = "ready"                 // in the leader's bucket, beside the seat
)

// Ready tells whether commands can be carried out: it stores something, which needs a connection, JetStream, and in a cluster the
// majority of the servers, and looks for the streams. It answers within some seconds. The error wraps messages.ErrUnreachable
// and says what is wrong.
func (b *Bus) Ready(ctx context.Context) error {
	return b.pulse.feel(ctx, func(ctx context.Context) error {
		msg := nats.NewMsg("$KV." + bucketLeader + "." + readyKey)
		if _, err := b.js.PublishMsg(ctx, msg); err != nil {
			return fmt.Errorf("store something: %w", b.refused(err))
		}
		for _, stream := range []string{streamItems, streamResults, streamParts, streamEvents, streamOf(bucketQueries), streamOf(bucketServices)} {
			if _, err := b.js.Stream(ctx, stream); err != nil {
				return fmt.Errorf("stream %s: %w", stream, translate(err))
			}
		}
		return nil
	})
}

// Answers is Ready for a user who may write no such record: it asks the leader of a stream, which a cluster has only while the
// majority of its servers is up.
func (b *Bus) Answers(ctx context.Context) error {
	return b.pulse.feel(ctx, func(ctx context.Context) error {
		stream := streamOf(bucketWorkers)
		if _, err := b.read(ctx, stream, []byte(`{"last_by_subj":"$KV.`+bucketWorkers+`.>"}`)); err != nil {
			return fmt.Errorf("stream %s: %w", stream, err)
		}
		if _, err := b.js.AccountInfo(ctx); err != nil {
			return fmt.Errorf("ask JetStream: %w", translate(err))
		}
		return nil
	})
}

// pulse keeps the last answer for a moment. It is safe for concurrent use.
type pulse struct {
	turn chan struct{} // holds one token; whoever has it may touch the rest
	last *beat
}

type beat struct {
	at  time.Time
	err error
}

func newPulse() pulse { return pulse{turn: make(chan struct{}, 1), last: &beat{}} }

func (p pulse) feel(ctx context.Context, ask func(context.Context) error) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	if !p.last.at.IsZero() && time.Since(p.last.at) < readyFor {
		return p.last.err
	}
	asking, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	err := ask(asking)
	if ctx.Err() != nil {
		return err // it tells of whoever asked, and not of the store
	}
	p.last.at, p.last.err = time.Now(), err
	return err
}
