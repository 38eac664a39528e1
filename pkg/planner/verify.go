package planner

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// ErrBrokenPlan says that a plan does not keep the contract of Plan.
var ErrBrokenPlan = errors.New("the plan is not a repeatable list of chunks")

// looked is how many chunks Verify looks at.
const looked = 64

// Verify checks, cheaply, a plan that was made elsewhere: it has 1 to MaxChunks chunks, and its beginning comes again when
// it is iterated again, so that a generator that yields only once is refused. That the plan yields as many chunks as it says
// is left to Fingerprint. Errors wrap ErrBrokenPlan or ErrTooMany.
func Verify(p Plan) error {
	n := p.Len()
	switch {
	case n < 1:
		return fmt.Errorf("%w: it has %d chunks; a query that needs no division has one", ErrBrokenPlan, n)
	case n > MaxChunks:
		return fmt.Errorf("%w: %d, at most %d", ErrTooMany, n, MaxChunks)
	}
	first, again := beginning(p), beginning(p)
	switch want := min(n, looked); {
	case len(first) < want:
		return fmt.Errorf("%w: it says it has %d chunks and yields %d", ErrBrokenPlan, n, len(first))
	case n < looked && len(first) > n:
		return fmt.Errorf("%w: it says it has %d chunks and yields more", ErrBrokenPlan, n)
	case len(again) != len(first):
		return fmt.Errorf("%w: iterated again it yields %d chunks of its first %d", ErrBrokenPlan, len(again), len(first))
	}
	for i := range first {
		if first[i] != again[i] {
			return fmt.Errorf("%w: iterated again, chunk %d is another one", ErrBrokenPlan, i)
		}
	}
	return verifyIndex(p, first)
}

// verifyIndex looks whether a plan that finds chunks without iterating finds those that the iteration yields.
func verifyIndex(p Plan, first [][sha256.Size]byte) error {
	indexed, ok := p.(Indexed)
	if !ok {
		return nil
	}
	for i := range first {
		if digest(indexed.At(i)) != first[i] {
			return fmt.Errorf("%w: At(%d) is another chunk than the iteration yields there", ErrBrokenPlan, i)
		}
	}
	return nil
}

// beginning gives digests, taken as the chunks are yielded: a plan that changes a chunk that it has yielded is found too.
func beginning(p Plan) [][sha256.Size]byte {
	var digests [][sha256.Size]byte
	for chunk := range p.All() {
		if len(digests) == looked {
			break
		}
		digests = append(digests, digest(chunk))
	}
	return digests
}

func digest(c Chunk) [sha256.Size]byte {
	sum := sha256.New()
	writeChunk(sum, c)
	return [sha256.Size]byte(sum.Sum(nil))
}
