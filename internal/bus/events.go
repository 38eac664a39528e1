package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// Kinds of events, the last token of their subject.
const (
	eventInterruption = "interruption"
	eventExecution    = "execution"
)

// PublishInterruption stores an interruption durably.
func (b *Bus) PublishInterruption(ctx context.Context, m *messages.Interruption) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return b.publishEvent(ctx, eventSubject(m.Query, eventInterruption), data)
}

// PublishExecutions stores the record of requests.
func (b *Bus) PublishExecutions(ctx context.Context, m *messages.Executions) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return b.publishEvent(ctx, eventSubject(m.Query, eventExecution), data)
}

// publishEvent stores an event once, however often it has to be sent until the stream's word of it arrives: the stream knows for
// minutes which ones it has.
func (b *Bus) publishEvent(ctx context.Context, subject string, data []byte) error {
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(jetstream.MsgIDHeader, digestOf(data))
	_, err := b.publish(ctx, msg)
	return err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
