package load

import "encoding/json"

// The bounds of samples; a profile may only lower them.
const (
	MaxSampleRows  = 100
	MaxSampleBytes = 262_144
)

// Sampler keeps the first rows of an answer, as far as they are within bounds (LR-5.5). Once a row was left out, all later ones are. Not for concurrent use.
type Sampler struct {
	bounds    SampleBounds
	text      []byte
	rows      int
	truncated bool
}

// NewSampler makes an empty one. Bounds that are 0, negative or above the greatest ones are the greatest ones.
func NewSampler(b SampleBounds) *Sampler {
	if b.Rows <= 0 || b.Rows > MaxSampleRows {
		b.Rows = MaxSampleRows
	}
	if b.Bytes <= 0 || b.Bytes > MaxSampleBytes {
		b.Bytes = MaxSampleBytes
	}
	return &Sampler{bounds: b}
}

// Room is how many bytes the raw text of the next row may have to be kept; 0: none is kept any more. Whoever reads a stream need hold no more of a
// row.
func (s *Sampler) Room() int {
	if s.truncated || s.rows == s.bounds.Rows {
		return 0
	}
	return max(0, s.bounds.Bytes-len(s.text)-2) // a bracket or comma before, a bracket behind
}

// Add keeps the raw text of the next row, if there is room.
func (s *Sampler) Add(row []byte) {
	if s.truncated || s.rows == s.bounds.Rows || len(row) > s.Room() {
		s.truncated = true
		return
	}
	before := byte(',')
	if s.rows == 0 {
		before = '['
	}
	s.text = append(append(s.text, before), row...)
	s.rows++
}

// Skip says that there is a next row, with more bytes than Room.
func (s *Sampler) Skip() { s.truncated = true }

// Sample gives a JSON array of the rows that were kept, and whether there were more.
func (s *Sampler) Sample() (rows json.RawMessage, truncated bool) {
	if s.rows == 0 {
		return json.RawMessage("[]"), s.truncated
	}
	return append(append(json.RawMessage{}, s.text...), ']'), s.truncated
}
