package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// part is a message of PARTS.
type part struct {
	subject string
	header  nats.Header
	data    []byte
}

// partReader reads messages of PARTS one by one.
type partReader struct {
	bus    *Bus
	stream jetstream.Stream // nil until something is read
}

// readParts opens nothing yet: most results have no parts.
func (b *Bus) readParts() *partReader { return &partReader{bus: b} }

// part reads a message, from any replica that has it. The error wraps messages.ErrDamaged when none has.
func (r *partReader) part(ctx context.Context, subject string) (*part, error) {
	if r.stream == nil {
		stream, err := r.bus.js.Stream(ctx, streamParts)
		if err != nil {
			return nil, translate(err)
		}
		r.stream = stream
	}
	msg, err := r.stream.GetLastMsgForSubject(ctx, subject)
	if err == nil {
		return &part{msg.Subject, msg.Header, msg.Data}, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, translate(err)
	}
	// A replica may not have it yet.
	found, err := r.bus.leadersPart(ctx, subject)
	if err == nil && found == nil {
		err = messages.ErrDamaged
	}
	return found, err
}

// collect reads what the pieces and the rest of a body make together.
func (r *partReader) collect(ctx context.Context, pieces int, subject func(n int) string, rest []byte) ([]byte, error) {
	if pieces == 0 {
		return rest, nil
	}
	var body bytes.Buffer
	for n := range pieces {
		piece, err := r.part(ctx, subject(n))
		if err != nil {
			return nil, fmt.Errorf("part %d of %d: %w", n, pieces, err)
		}
		body.Write(piece.data)
	}
	body.Write(rest)
	return body.Bytes(), nil
}

// leadersPart asks the leader of PARTS for the last message of a subject, or of those that match it; nil when there is none.
func (b *Bus) leadersPart(ctx context.Context, subject string) (*part, error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, questionLimit)
	defer cancel()
	msg, err := b.read(ctx, streamParts, request)
	if err != nil || msg == nil {
		return nil, err
	}
	header := nats.Header{}
	if len(msg.Hdrs) > 0 {
		if header, err = nats.DecodeHeadersMsg(msg.Hdrs); err != nil {
			return nil, fmt.Errorf("%w: %w", messages.ErrDamaged, err)
		}
	}
	return &part{msg.Subject, header, msg.Data}, nil
}
