package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/pkg/messages"
)

// packer compresses a body and publishes what is more than a message holds, so that a body of any size takes the memory of
// a few pieces. Not for concurrent use.
type packer struct {
	bus     *Bus
	enc     *zstd.Encoder // nil: nothing of the body was written yet
	packed  bytes.Buffer
	subject func(n int) string // of the n-th piece
	pieces  int                // published
}

func newPacker(b *Bus, subject func(int) string) *packer {
	return &packer{bus: b, subject: subject}
}

// encoders keeps encoders for the next body: one is more than a megabyte, and most bodies are a few kilobytes.
type encoders struct{ idle sync.Pool }

func (e *encoders) take(to io.Writer) *zstd.Encoder {
	enc, ok := e.idle.Get().(*zstd.Encoder)
	if !ok {
		// With these options, making an encoder cannot fail.
		enc, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	}
	enc.Reset(to)
	return enc
}

func (e *encoders) giveBack(enc *zstd.Encoder) {
	enc.Reset(nil) // it must not hold on to a body
	e.idle.Put(enc)
}

// reset begins another body.
func (p *packer) reset(subject func(int) string) {
	p.packed.Reset()
	if p.enc != nil {
		p.enc.Reset(&p.packed)
	}
	p.subject, p.pieces = subject, 0
}

func (p *packer) write(ctx context.Context, data []byte) error {
	if p.enc == nil {
		p.enc = p.bus.encoders.take(&p.packed)
	}
	if _, err := p.enc.Write(data); err != nil {
		return fmt.Errorf("compress rows: %w", err)
	}
	return p.publishAbove(ctx, p.bus.inline)
}

// close ends the body and gives the rest of it, which is at most what a message holds.
func (p *packer) close(ctx context.Context) ([]byte, error) {
	if p.enc != nil {
		if err := p.enc.Close(); err != nil {
			return nil, fmt.Errorf("compress rows: %w", err)
		}
		p.bus.encoders.giveBack(p.enc)
		p.enc = nil
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
