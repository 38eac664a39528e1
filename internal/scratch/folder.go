package scratch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"github.com/klauspost/compress/s2"

	"github.com/braidhq/braid/pkg/frame"
)

// Folder makes spills in a folder of the file system. It is safe for concurrent use.
type Folder struct{ path string }

var _ frame.Scratch = (*Folder)(nil)

// In keeps spills in a folder, which is made when it is not there; the empty path is the system's folder for temporary files.
func In(path string) *Folder { return &Folder{path: path} }

const (
	// blockBytes are compressed at a time: what each reader and writer holds in memory, a few times over.
	blockBytes  = 64 << 10
	bufferBytes = 64 << 10
)

// Create makes a spill. Errors name the folder and what to do about it.
func (f *Folder) Create() (frame.Spill, error) {
	path := f.path
	if path == "" {
		path = os.TempDir()
	} else if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, f.explain(err)
	}
	file, err := os.CreateTemp(path, ".braid-scratch-*")
	if err != nil {
		return nil, f.explain(err)
	}
	s := &spill{folder: f, file: file}
	if runtime.GOOS != "windows" { // which keeps the names of open files
		if err := os.Remove(file.Name()); err != nil {
			return nil, errors.Join(f.explain(err), file.Close())
		}
		s.nameless = true
	}
	s.buffer = bufio.NewWriterSize(file, bufferBytes)
	s.writer = s2.NewWriter(s.buffer, s2.WriterBlockSize(blockBytes), s2.WriterConcurrency(1))
	return s, nil
}

func (f *Folder) explain(err error) error {
	path := f.path
	if path == "" {
		path = os.TempDir()
	}
	fix := "; set another one with --scratch-dir or TMPDIR"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		fix = "; there is no room: free some, or set another one with --scratch-dir or TMPDIR"
	}
	return fmt.Errorf("scratch files in %s: %w%s", path, err, fix)
}

// spill is a compressed file.
type spill struct {
	folder   *Folder
	file     *os.File
	nameless bool
	buffer   *bufio.Writer
	writer   *s2.Writer // nil once it is sealed
}

func (s *spill) Write(data []byte) (int, error) {
	n, err := s.writer.Write(data)
	if err != nil {
		return n, s.folder.explain(err)
	}
	return n, nil
}

// Seal brings what was written to where it can be read.
func (s *spill) Seal() error {
	err := s.writer.Close()
	if err == nil {
		err = s.buffer.Flush()
	}
	if err != nil {
		return s.folder.explain(err)
	}
	s.writer, s.buffer = nil, nil
	return nil
}

// Reader may be asked for by several goroutines at a time.
func (s *spill) Reader() (io.ReadCloser, error) {
	section := io.NewSectionReader(s.file, 0, 1<<62)
	return io.NopCloser(s2.NewReader(section, s2.ReaderMaxBlockSize(blockBytes), s2.ReaderAllocBlock(blockBytes))), nil
}

func (s *spill) Close() error {
	err := s.file.Close()
	if !s.nameless {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}
