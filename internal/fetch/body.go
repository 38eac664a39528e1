package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// errUnknownEncoding is a body in a compression that was not asked for.
var errUnknownEncoding = errors.New("unknown content encoding")

// body reads the body of an answer, decompressed, step by step and never beyond a bound. What a compressed body unfolds
// to is what counts.
type body struct {
	source   io.Reader
	watch    *watchdog
	share    *share
	expected int64 // bytes that the server announced; they are only a hint
	data     []byte
	ended    bool
}

const (
	firstBuffer = 32 << 10 // not taken from the room
	spareBytes  = 512      // so that the end of a body of the expected size is found without growing
)

func newBody(r *http.Response, watch *watchdog, share *share) (*body, error) {
	b := &body{source: watch.reader(r.Body), watch: watch, share: share}
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		b.expected = max(r.ContentLength, 0)
	case "gzip", "x-gzip":
		compressed, err := gzip.NewReader(b.source)
		switch {
		case errors.Is(err, io.EOF): // an empty body is not compressed
			b.source, b.ended = bytes.NewReader(nil), true
		case err != nil:
			return nil, fmt.Errorf("decompress the answer: %w", err)
		default:
			b.source = compressed
		}
	default:
		return nil, fmt.Errorf("%w %.40q; asked was for gzip", errUnknownEncoding, encoding)
	}
	return b, nil
}

// read reads on until the body has ended or more than limit bytes are there. The data is valid until the next read.
func (b *body) read(ctx context.Context, limit int64) (data []byte, ended bool, err error) {
	for !b.ended && int64(len(b.data)) <= limit {
		if len(b.data) == cap(b.data) {
			if err := b.grow(ctx, limit); err != nil {
				return b.data, false, err
			}
		}
		n, err := b.source.Read(b.data[len(b.data):min(int64(cap(b.data)), limit+1)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case errors.Is(err, io.EOF):
			b.ended = true
		case err != nil:
			return b.data, false, fmt.Errorf("read the answer after %d bytes: %w", len(b.data), err)
		}
	}
	return b.data, b.ended, nil
}

// grow doubles the buffer, but not beyond what the limit or a server that keeps its word can fill.
func (b *body) grow(ctx context.Context, limit int64) error {
	have := int64(cap(b.data))
	size := max(2*have, firstBuffer)
	if expected := b.expected + spareBytes; expected > have && expected < size {
		size = expected
	}
	size = min(size, limit+1)
	if size > firstBuffer {
		b.watch.pause() // to wait for room is not the server's silence
		err := b.share.take(ctx, size-have)
		b.watch.received()
		if err != nil {
			return err
		}
	}
	grown := make([]byte, len(b.data), size)
	copy(grown, b.data)
	b.data = grown
	return nil
}
