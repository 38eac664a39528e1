package load

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
)

// ErrDigest means that a DataDigest was given other bytes than it was told of.
var ErrDigest = errors.New("data digest out of step")

// DataDigest makes data_sha256 of an answer (LR-5.3): the SHA-256 over, for each query, its index, the length of its raw data and the raw data
// itself, from [ to ]. Everything else of an answer tells of the cache and of the time. The length stands before the bytes, so whoever
// streams must know it first. Not for concurrent use; make one with NewDataDigest.
type DataDigest struct {
	hash  hash.Hash
	index int
	left  int64
}

// NewDataDigest makes one that has seen no query.
func NewDataDigest() *DataDigest { return &DataDigest{hash: sha256.New()} }

// Begin says that the next query's data has so many bytes; 0 when it has no data. The error wraps ErrDigest.
func (d *DataDigest) Begin(length int64) error {
	if d.left > 0 || length < 0 {
		return fmt.Errorf("%w: query %d begins with %d bytes while %d are missing", ErrDigest, d.index, length, d.left)
	}
	fmt.Fprintf(d.hash, "%d:%d:", d.index, length)
	d.index++
	d.left = length
	d.end()
	return nil
}

// Write takes the next bytes of the query's data. The error wraps ErrDigest.
func (d *DataDigest) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > d.left {
		return 0, fmt.Errorf("%w: %d bytes came where %d are missing", ErrDigest, len(p), d.left)
	}
	d.hash.Write(p)
	d.left -= int64(len(p))
	d.end()
	return len(p), nil
}

func (d *DataDigest) end() {
	if d.left == 0 {
		d.hash.Write([]byte{'\n'})
	}
}

// Sum gives the digest in lower-case hex. The error wraps ErrDigest.
func (d *DataDigest) Sum() (string, error) {
	if d.left > 0 {
		return "", fmt.Errorf("%w: %d bytes are missing", ErrDigest, d.left)
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}
