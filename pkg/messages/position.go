package messages

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrPosition reports text that is not a position.
var ErrPosition = errors.New("not a position")

const (
	maxPositionDepth = 32
	maxPositionIndex = 1<<31 - 1
)

// Position identifies a chunk by its place in the plan: "17", or "17.0.1" for a child of a chunk that was split.
// The text is canonical (no sign, no leading zeros), so equal positions are equal strings. The zero value is no position.
type Position string

// PositionAt is the position of the plan's i-th chunk (0-based).
func PositionAt(i int) Position { return Position(strconv.Itoa(i)) }

// ParsePosition checks that text is a canonical position. The error wraps ErrPosition.
func ParsePosition(text string) (Position, error) {
	parts := strings.Split(text, ".")
	if len(parts) > maxPositionDepth {
		return "", fmt.Errorf("%w: %d levels, at most %d", ErrPosition, len(parts), maxPositionDepth)
	}
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > maxPositionIndex || strconv.Itoa(n) != part {
			return "", fmt.Errorf("%w: %.40q", ErrPosition, text)
		}
	}
	return Position(text), nil
}

// Index is the 0-based index in the plan of the chunk that p is, or descends from. p must be valid.
func (p Position) Index() int {
	root, _, _ := strings.Cut(string(p), ".")
	n, err := strconv.Atoi(root)
	if err != nil {
		return -1
	}
	return n
}

// IsChild tells whether p came from a split.
func (p Position) IsChild() bool { return strings.Contains(string(p), ".") }

// Parent is the position that p's chunk was split from; it is empty for a position of the plan.
func (p Position) Parent() Position {
	i := strings.LastIndexByte(string(p), '.')
	return p[:max(i, 0)]
}

// Children are the positions of the two chunks that p's is split into. ok is false at the deepest level that a position
// has: a chunk that came from so many splits is not split again.
func (p Position) Children() (first, second Position, ok bool) {
	if p == "" || strings.Count(string(p), ".") >= maxPositionDepth-1 {
		return "", "", false
	}
	return p + ".0", p + ".1", true
}

// Compare orders positions as their rows stand in the table: 2 < 10, 17 < 17.0 < 17.1 < 18.
func (p Position) Compare(q Position) int {
	a, b := string(p), string(q)
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		m, errM := strconv.Atoi(x)
		n, errN := strconv.Atoi(y)
		if errM != nil || errN != nil {
			return cmp.Compare(x, y)
		}
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
