package bus

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

var errTooLong = errors.New("more data than announced")

func compress(data []byte) []byte {
	// With no writer and these options, making an encoder cannot fail.
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	defer enc.Close() //nolint:errcheck // there is no writer to flush to
	return enc.EncodeAll(data, nil)
}

// decompress never holds more than limit bytes and a little: what is stored is not trusted more than what is fetched.
func decompress(packed []byte, limit int64) ([]byte, error) {
	dec, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	defer dec.Close()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(dec, limit+1))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if n > limit {
		return nil, fmt.Errorf("decompress: %w", errTooLong)
	}
	return out.Bytes(), nil
}
