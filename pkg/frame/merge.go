package frame

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// runBufferBytes is what one run holds in memory while it is read.
const runBufferBytes = 64 << 10

// appendEntry writes an entry as a run has it: the lengths of key and payload as varints, then both.
func appendEntry(data []byte, e entry) []byte {
	data = binary.AppendUvarint(data, uint64(len(e.key)))
	data = binary.AppendUvarint(data, uint64(len(e.payload)))
	return append(append(data, e.key...), e.payload...)
}

// source is one of the ordered sequences that are merged: a run, or a block in memory.
type source struct {
	entry  entry
	head   uint64
	reader *bufio.Reader // of a run
	closer io.Closer
	buffer []byte
	block  *block // in memory
	next   int    // of the block
}

func openRun(r run) (*source, error) {
	reader, err := r.spill.Reader()
	if err != nil {
		return nil, fmt.Errorf("read kept rows: %w", err)
	}
	return &source{reader: bufio.NewReaderSize(reader, runBufferBytes), closer: reader}, nil
}

// advance goes to the next entry; false at the end.
func (s *source) advance() (bool, error) {
	if s.block != nil {
		if s.next == len(s.block.refs) {
			return false, nil
		}
		s.head, s.entry = s.block.refs[s.next].head, s.block.entry(s.next)
		s.next++
		return true, nil
	}
	keyLen, err := binary.ReadUvarint(s.reader)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read kept rows: %w", err)
	}
	payloadLen, err := binary.ReadUvarint(s.reader)
	if err == nil && max(keyLen, payloadLen) > maxEntryBytes {
		err = errors.New("what was kept is damaged")
	}
	if err == nil {
		size := int(keyLen + payloadLen)
		if cap(s.buffer) < size {
			s.buffer = make([]byte, size+size/4)
		}
		s.buffer = s.buffer[:size]
		_, err = io.ReadFull(s.reader, s.buffer)
	}
	if err != nil {
		return false, fmt.Errorf("read kept rows: %w", err)
	}
	s.entry = entry{key: s.buffer[:keyLen], payload: s.buffer[keyLen:]}
	s.head = head(s.entry.key)
	return true, nil
}

// maxEntryBytes is far above what a row of maxRowBytes can become.
const maxEntryBytes = 1 << 30

func (s *source) before(other *source) bool {
	if s.head != other.head {
		return s.head < other.head
	}
	return bytes.Compare(s.entry.key, other.entry.key) < 0
}

// mergeRuns yields the entries of ordered runs, and of a block if there is one, in the order of their keys.
func mergeRuns(runs []run, also *block, yield func(entry, error) bool) {
	var heap sources
	defer func() { heap.close() }()
	for _, r := range runs {
		s, err := openRun(r)
		if err == nil {
			err = heap.open(s)
		}
		if err != nil {
			yield(entry{}, err)
			return
		}
	}
	if also != nil {
		if err := heap.open(&source{block: also}); err != nil {
			yield(entry{}, err)
			return
		}
	}
	for heap.order(); len(heap.active) > 0; {
		if !yield(heap.active[0].entry, nil) {
			return
		}
		if err := heap.advance(); err != nil {
			yield(entry{}, err)
			return
		}
	}
}

// sources is a binary heap of what is merged, the lowest key first.
type sources struct {
	active []*source
	all    []*source
}

func (h *sources) open(s *source) error {
	h.all = append(h.all, s)
	more, err := s.advance()
	if more {
		h.active = append(h.active, s)
	}
	return err
}

func (h *sources) order() {
	for i := len(h.active)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// advance goes on behind the lowest entry.
func (h *sources) advance() error {
	more, err := h.active[0].advance()
	if err != nil {
		return err
	}
	if !more {
		last := len(h.active) - 1
		h.active[0] = h.active[last]
		h.active = h.active[:last]
	}
	h.down(0)
	return nil
}

func (h *sources) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.active); child++ {
			if h.active[child].before(h.active[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.active[i], h.active[least] = h.active[least], h.active[i]
		i = least
	}
}

func (h *sources) close() {
	for _, s := range h.all {
		if s.closer != nil {
			_ = s.closer.Close() // it was only read
		}
	}
}
