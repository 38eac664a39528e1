package fetch

import (
	"bytes"
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
	source io.Reader
	data   bytes.Buffer
	ended  bool
}

// firstBuffer bounds what is set aside on the word of a server alone.
const firstBuffer = 4 << 20

func newBody(r *http.Response, watch *watchdog) (*body, error) {
	b := &body{source: watch.reader(r.Body)}
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		b.data.Grow(int(min(max(r.ContentLength, 0), firstBuffer)) + bytes.MinRead)
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
func (b *body) read(limit int64) (data []byte, ended bool, err error) {
	if missing := limit + 1 - int64(b.data.Len()); !b.ended && missing > 0 {
		n, err := b.data.ReadFrom(io.LimitReader(b.source, missing))
		if err != nil {
			return b.data.Bytes(), false, fmt.Errorf("read the answer after %d bytes: %w", b.data.Len(), err)
		}
		b.ended = n < missing
	}
	return b.data.Bytes(), b.ended, nil
}
