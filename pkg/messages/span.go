package messages

import "fmt"

// Span is positions of a plan that stand together: the first and the last one.
type Span [2]int

// MaxSpans is the most spans that a progress record tells of.
const MaxSpans = 256

func checkSpans(spans []Span) error {
	if len(spans) > MaxSpans {
		return fmt.Errorf("%d, at most %d", len(spans), MaxSpans)
	}
	next := 0
	for i, s := range spans {
		if s[0] < next || s[1] < s[0] || s[1] > maxPositionIndex {
			return fmt.Errorf("[%d]: %d to %d: want positions in order, apart from those before", i, s[0], s[1])
		}
		next = s[1] + 1
	}
	return nil
}
