package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/pkg/messages"
)

// packer compresses a body and publishes what is more than a message holds, so that a body of any size takes the memory of
// a few pieces. Not for concurrent use.
type packer struct {
	bus     *Bus
	enc     *zstd.Encoder
	packed  bytes.Buffer
	subject func(n int) string // of the n-th piece
	pieces  int                // published
}

func newPacker(b *Bus, subject func(int) string) *packer {
	p := &packer{bus: b}
	// With a buffer as its writer and these options, making an encoder cannot fail.
	p.enc, _ = zstd.NewWriter(&p.packed, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	p.subject = subject
	return p
}

// reset begins another body.
func (p *packer) reset(subject func(int) string) {
	p.packed.Reset()
	p.enc.Reset(&p.packed)
	p.subject, p.pieces = subject, 0
}

func (p *packer) write(ctx context.Context, data []byte) error {
	if _, err := p.enc.Write(data); err != nil {
		return fmt.Errorf("compress rows: %w", err)
	}
	return p.publishAbove(ctx, p.bus.inline)
}

// close ends the body and gives the rest of it, which is at most what a message holds.
func (p *packer) close(ctx context.Context) ([]byte, error) {
	if err := p.enc.Close(); err != nil {
		return nil, fmt.Errorf("compress rows: %w", err)
	}
	if err := p.publishAbove(ctx, p.bus.inline); err != nil {
		return nil, err
	}
	return p.packed.Bytes(), nil
}

// publishAbove publishes pieces until no more than rest is left.
func (p *packer) publishAbove(ctx context.Context, rest int) error {
	for p.packed.Len() > rest {
		msg := nats.NewMsg(p.subject(p.pieces))
		msg.Data = bytes.Clone(p.packed.Next(p.bus.inline))
		_, err := p.bus.publish(ctx, msg)
		// The attempt's id is its own: a piece that exists is this one, published before an answer was lost.
		if err != nil && !errors.Is(err, messages.ErrExists) {
			return fmt.Errorf("store part %d: %w", p.pieces, err)
		}
		p.pieces++
	}
	return nil
}
