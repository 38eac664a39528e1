package planner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// splitRules is the version of the rules by which Split divides. A query whose chunks are half split is gone on with by the
// rules that it was begun with, or not at all.
const splitRules = 1

// Fingerprint identifies a plan by all that it asks, in order: SHA-256, in hex. It streams: a plan of any length takes
// constant memory. A plan that yields another number of chunks than it says is refused, with ErrBrokenPlan.
func Fingerprint(p Plan) (string, error) {
	sum := sha256.New()
	number(sum, splitRules)
	n := 0
	for chunk := range p.All() {
		if n++; n > p.Len() {
			return "", fmt.Errorf("%w: it says it has %d chunks and yields more", ErrBrokenPlan, p.Len())
		}
		writeChunk(sum, chunk)
	}
	if n != p.Len() {
		return "", fmt.Errorf("%w: it says it has %d chunks and yields %d", ErrBrokenPlan, p.Len(), n)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func writeChunk(sum hash.Hash, chunk Chunk) {
	number(sum, len(chunk.Values))
	for _, name := range slices.Sorted(maps.Keys(chunk.Values)) {
		text(sum, name)
		number(sum, len(chunk.Values[name]))
		for _, value := range chunk.Values[name] {
			text(sum, value)
		}
	}
}

// Lengths go before what they measure, so that no two different plans give the same bytes.
func number(sum hash.Hash, n int) {
	var buf [8]byte
	binary.BigEndian.PutUint64(buf[:], uint64(n)) //nolint:gosec // lengths are not negative
	sum.Write(buf[:])
}

func text(sum hash.Hash, s string) {
	number(sum, len(s))
	sum.Write([]byte(s))
}
