package frame

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// entry is what a sorter keeps: entries come back in bytewise order of their keys.
type entry struct {
	key     []byte
	payload []byte
}

// sorter sorts entries of different keys in bounded memory: what goes over the bound is written to scratch as a sorted run,
// and the runs are merged as they are read. Entries come back in the order of their keys, whatever order they came in.
type sorter struct {
	scratch Scratch
	bounds  sorterBounds

	block block   // what is not in a run yet
	runs  [][]run // by how often they were merged
}

// sorterBounds bound the memory of a sorter: the bytes of the entries that are not in a run, and the runs that are read at a time.
type sorterBounds struct{ blockBytes, fanIn int }

// run is entries in order, in scratch.
type run struct{ spill Spill }

func newSorter(scratch Scratch, bounds sorterBounds) *sorter {
	return &sorter{scratch: scratch, bounds: bounds, block: block{ordered: true}}
}

func (s *sorter) add(ctx context.Context, key, payload []byte) error {
	if size := len(key) + len(payload) + refBytes; len(s.block.refs) > 0 && s.block.size()+size > s.bounds.blockBytes {
		if err := s.spill(ctx); err != nil {
			return err
		}
	}
	s.block.add(key, payload)
	return nil
}

// spill writes the block as a run, and merges runs once there are too many of one level.
func (s *sorter) spill(ctx context.Context) error {
	s.block.sort()
	written, err := s.write(ctx, s.block.entries)
	if err != nil {
		return err
	}
	s.block.reset()
	for level := 0; ; level++ {
		if level == len(s.runs) {
			s.runs = append(s.runs, nil)
		}
		s.runs[level] = append(s.runs[level], written)
		if len(s.runs[level]) < s.bounds.fanIn {
			return nil
		}
		group := s.runs[level]
		written, err = s.write(ctx, func(yield func(entry, error) bool) { mergeRuns(group, nil, yield) })
		if err != nil {
			return err
		}
		s.runs[level] = nil
		if err := closeRuns(group); err != nil {
			return err
		}
	}
}

// write makes a run of entries that come in order.
func (s *sorter) write(ctx context.Context, entries func(yield func(entry, error) bool)) (run, error) {
	spill, err := s.scratch.Create()
	if err != nil {
		return run{}, fmt.Errorf("keep rows: %w", err)
	}
	var data []byte
	written := 0
	entries(func(e entry, failed error) bool {
		if err = failed; err == nil && written%checkEvery == 0 {
			err = context.Cause(ctx)
		}
		if err == nil {
			data = appendEntry(data[:0], e)
			_, err = spill.Write(data)
		}
		written++
		return err == nil
	})
	if err == nil {
		err = spill.Seal()
	}
	if err != nil {
		return run{}, errors.Join(fmt.Errorf("keep rows: %w", err), spill.Close())
	}
	return run{spill}, nil
}

// sorted yields all entries in order, as often as it is asked for, once no more are added. An entry is valid until the next one is
// asked for. After an error there are no more.
func (s *sorter) sorted(yield func(entry, error) bool) {
	s.block.sort()
	runs := slices.Concat(s.runs...)
	if len(runs) == 0 {
		s.block.entries(yield)
		return
	}
	mergeRuns(runs, &s.block, yield)
}

func (s *sorter) close() error {
	err := closeRuns(slices.Concat(s.runs...))
	s.runs, s.block = nil, block{}
	return err
}

func closeRuns(runs []run) error {
	var err error
	for _, r := range runs {
		err = errors.Join(err, r.spill.Close())
	}
	return err
}

// block is entries in memory, in one piece of it.
type block struct {
	data    []byte
	refs    []ref
	ordered bool // the refs are in the order of their keys
}

// ref is an entry of a block. The head is the key's first bytes, so that most comparisons look at nothing else.
type ref struct {
	head             uint64
	start            int
	keyLen, totalLen int32
}

const refBytes = 24

func (b *block) size() int { return len(b.data) + len(b.refs)*refBytes }

func (b *block) add(key, payload []byte) {
	r := ref{head: head(key), start: len(b.data), keyLen: int32(len(key)), totalLen: int32(len(key) + len(payload))}
	b.data = append(append(b.data, key...), payload...)
	if n := len(b.refs); n > 0 && b.ordered && b.compare(b.refs[n-1], r) > 0 {
		b.ordered = false
	}
	b.refs = append(b.refs, r)
}

func head(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var padded [8]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint64(padded[:])
}

func (b *block) key(r ref) []byte { return b.data[r.start : r.start+int(r.keyLen)] }

func (b *block) compare(x, y ref) int {
	switch {
	case x.head < y.head:
		return -1
	case x.head > y.head:
		return 1
	}
	return bytes.Compare(b.key(x), b.key(y))
}

func (b *block) sort() {
	if !b.ordered {
		slices.SortFunc(b.refs, b.compare)
		b.ordered = true
	}
}

func (b *block) entry(i int) entry {
	r := b.refs[i]
	return entry{key: b.key(r), payload: b.data[r.start+int(r.keyLen) : r.start+int(r.totalLen)]}
}

func (b *block) entries(yield func(entry, error) bool) {
	for i := range b.refs {
		if !yield(b.entry(i), nil) {
			return
		}
	}
}

func (b *block) reset() { b.data, b.refs, b.ordered = b.data[:0], b.refs[:0], true }
