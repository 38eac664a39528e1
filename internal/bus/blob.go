package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	blobPiece  = 128 << 10 // half of minPayload
	maxBlob    = 64 << 20
	blobPieces = maxBlob/blobPiece + 1
)

// putBlob stores data under prefix in pieces of what a message carries, compressed. It is addressed by its content's
// digest, so writing it again changes nothing.
func (b *Bus) putBlob(ctx context.Context, bucket, prefix string, data []byte) error {
	if len(data) > maxBlob {
		return fmt.Errorf("store %s: %d bytes, at most %d", prefix, len(data), maxBlob)
	}
	packed := compress(data)
	pieces := max(1, (len(packed)+blobPiece-1)/blobPiece)
	for i := range pieces {
		piece := packed[i*blobPiece : min(len(packed), (i+1)*blobPiece)]
		// The first byte says whether another piece follows.
		more := byte(0)
		if i < pieces-1 {
			more = 1
		}
		_, err := b.put(ctx, bucket, prefix+"."+strconv.Itoa(i), append([]byte{more}, piece...), 0, 0)
		if err != nil && !errors.Is(err, messages.ErrConflict) {
			return err
		}
	}
	return nil
}

// getBlob reads what putBlob stored and checks it against digest.
func (b *Bus) getBlob(ctx context.Context, bucket, prefix, digest string) ([]byte, error) {
	var packed bytes.Buffer
	for i := 0; ; i++ {
		piece, _, err := b.get(ctx, bucket, prefix+"."+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if len(piece) == 0 || i > blobPieces {
			return nil, fmt.Errorf("read %s/%s.%d: %w", bucket, prefix, i, messages.ErrNotFound)
		}
		packed.Write(piece[1:])
		if piece[0] == 0 {
			break
		}
	}
	data, err := decompress(packed.Bytes(), maxBlob)
	if err != nil {
		return nil, fmt.Errorf("read %s/%s: %w: %w", bucket, prefix, messages.ErrDamaged, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
		return nil, fmt.Errorf("read %s/%s: %w: it does not match its digest", bucket, prefix, messages.ErrDamaged)
	}
	return data, nil
}
