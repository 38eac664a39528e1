package superset

import "github.com/braidhq/braid/pkg/load"

// The bounds of a sample that nothing can widen (LR-5.5).
const (
	maxSampleRows  = 100
	maxSampleBytes = 256 << 10
)

type sampleBounds struct{ rows, bytes int }

func boundsOf(b load.SampleBounds) sampleBounds {
	return sampleBounds{rows: max(0, min(b.Rows, maxSampleRows)), bytes: max(0, min(b.Bytes, maxSampleBytes))}
}

// sampler keeps the first rows of an answer as a JSON list of their own texts, as long as they are within its bounds.
type sampler struct {
	bounds    sampleBounds
	text      []byte
	rows      int
	begin     int  // of the row that is being kept, with the comma before it
	truncated bool // not all rows are kept; no more is
}

// open begins a row; ok is false when it is not to be kept.
func (s *sampler) open() (ok bool) {
	if s.truncated || s.rows == s.bounds.rows {
		s.truncated = true
		return false
	}
	s.begin = len(s.text)
	if s.rows == 0 {
		s.text = append(s.text, '[')
		s.begin = len(s.text)
	} else {
		s.text = append(s.text, ',')
	}
	return true
}

// add takes a part of the row, unless the sample would grow over its bound: then the row is dropped and the sample is closed.
func (s *sampler) add(part []byte) {
	switch {
	case s.truncated:
	case len(s.text)+len(part)+len("]") > s.bounds.bytes:
		s.text, s.truncated = s.text[:s.begin], true
	default:
		s.text = append(s.text, part...)
	}
}

// shut ends the row.
func (s *sampler) shut() {
	if !s.truncated {
		s.rows++
	}
}

// list is the sample.
func (s *sampler) list() []byte {
	if s.rows == 0 {
		return []byte("[]")
	}
	return append(s.text, ']')
}
