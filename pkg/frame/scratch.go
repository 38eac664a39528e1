package frame

import (
	"bytes"
	"io"
)

// Scratch is where a table keeps what does not fit into memory while it is made and read.
type Scratch interface {
	// Create gives an empty spill.
	Create() (Spill, error)
}

// Spill is bytes that are written once, one part behind the other, and then read from their beginning.
type Spill interface {
	io.Writer
	// Seal ends the writing.
	Seal() error
	// Reader reads what was sealed. Any number of readers may be open at a time.
	Reader() (io.ReadCloser, error)
	// Close gives up what was written. Readers must be closed before.
	Close() error
}

// inMemory keeps spills in memory: of tables that are known to be small.
type inMemory struct{}

func (inMemory) Create() (Spill, error) { return &memorySpill{}, nil }

type memorySpill struct{ bytes.Buffer }

func (*memorySpill) Seal() error { return nil }

func (s *memorySpill) Reader() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s.Bytes())), nil
}

func (*memorySpill) Close() error { return nil }
