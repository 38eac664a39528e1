package superset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/braidhq/braid/pkg/load"
)

// spoolMemory is what a spool holds before it goes on in a file.
const spoolMemory = 1 << 20

// maxScratch is what the spools of one client hold in files at once. A short body may decompress to a long one, and the disk is everybody's.
const maxScratch = 16 << 30

// errScratch is data that found no room.
var errScratch = fmt.Errorf("answers that are being read take more than %d GiB of the disk", maxScratch>>30)

// spool keeps the texts of data of one answer until their lengths are known: data_sha256 has the length before the text, so a text cannot be
// hashed as it comes. What is longer than spoolMemory is in a file without a name. Used by one goroutine.
type spool struct {
	dir    string
	memory []byte
	file   *os.File
	named  string // where the file could not be removed at once
	size   int64
	shared *atomic.Int64 // bytes in files of all spools; nil: they are not counted
	filed  int64         // of them, this one's
}

// Write adds to it. After an error what is in it is of no use.
func (s *spool) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.file == nil && len(s.memory)+len(p) <= spoolMemory {
		s.memory = append(s.memory, p...)
		return len(p), nil
	}
	if s.shared != nil {
		s.filed += int64(len(p))
		if s.shared.Add(int64(len(p))) > maxScratch {
			return 0, errScratch
		}
	}
	if s.file == nil {
		file, err := os.CreateTemp(s.dir, "braid-answer-*")
		if err != nil {
			return 0, fmt.Errorf("keep an answer's data: %w", err)
		}
		s.file = file
		if os.Remove(file.Name()) != nil {
			s.named = file.Name()
		}
	}
	n, err := s.file.Write(p)
	if err != nil {
		return n, fmt.Errorf("keep an answer's data: %w", err)
	}
	return n, nil
}

// section reads a part of it.
func (s *spool) section(at, length int64) (io.Reader, error) {
	if at < 0 || length < 0 || at+length > s.size {
		return nil, errors.New("read an answer's data: out of bounds")
	}
	held := int64(len(s.memory))
	var parts []io.Reader
	if at < held {
		end := min(held, at+length)
		parts = append(parts, bytes.NewReader(s.memory[at:end]))
		at, length = end, length-(end-at)
	}
	if length > 0 {
		parts = append(parts, io.NewSectionReader(s.file, at-held, length))
	}
	return io.MultiReader(parts...), nil
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // what was in it is not needed any more
		if s.named != "" {
			_ = os.Remove(s.named)
		}
	}
	if s.shared != nil {
		s.shared.Add(-s.filed)
	}
	*s = spool{dir: s.dir, shared: s.shared}
}

// dataDigest is that of all data that is in the spool (LR-5.3).
func dataDigest(s *spool, queries []*found) (string, error) {
	digest := load.NewDataDigest()
	for _, q := range queries {
		if err := digest.Begin(q.dataLen); err != nil {
			return "", err
		}
		text, err := s.section(q.dataAt, q.dataLen)
		if err != nil {
			return "", err
		}
		if _, err := io.Copy(digest, text); err != nil {
			return "", fmt.Errorf("read an answer's data: %w", err)
		}
	}
	return digest.Sum()
}
