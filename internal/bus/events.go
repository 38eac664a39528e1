package bus

import (
	"context"

	"github.com/nats-io/nats.go"

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

func (b *Bus) publishEvent(ctx context.Context, subject string, data []byte) error {
	msg := nats.NewMsg(subject)
	msg.Data = data
	_, err := b.publish(ctx, msg)
	return err
}
