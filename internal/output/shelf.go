package output

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/frame"
)

// Shelf keeps written tables for a while, so that a reader may ask for them piece by piece: Parquet is read by its footer first, and
// then by the columns that are wanted. It is safe for concurrent use.
type Shelf struct {
	dir  string
	now  func() time.Time
	idle time.Duration
	most int

	mu      sync.Mutex
	volumes map[string]*Volume // by key
	closed  bool
}

const (
	shelfIdle = 10 * time.Minute
	shelfMost = 16
)

// NewShelf keeps at most 16 tables in files of a folder, each until nobody has asked for it for ten minutes. The empty folder is the
// system's one for temporary files. Like the clock, it is looked at when a table is asked for; Close gives up all.
func NewShelf(dir string, now func() time.Time) *Shelf {
	return &Shelf{dir: dir, now: now, idle: shelfIdle, most: shelfMost, volumes: map[string]*Volume{}}
}

// Volume is a table on the shelf. Release it after use.
type Volume struct {
	Report frame.Report
	Size   int64
	SHA256 string // of the bytes, in hex

	shelf  *Shelf
	key    string
	ready  chan struct{} // closed once it is written, or failed
	err    error
	file   *os.File
	users  int       // guarded by the shelf's mu, as is all below
	asked  time.Time // for the last time
	parted bool      // no longer on the shelf: the last user closes it
}

// ErrShelfClosed reports a shelf that was closed.
var ErrShelfClosed = errors.New("tables are no longer served")

// Volume gives the table of a key, which fill writes when it is not on the shelf. Whoever asks for one that is being written waits
// for it. What fill says is the error, and nothing is kept.
func (s *Shelf) Volume(ctx context.Context, key string, fill func(context.Context, io.Writer) (*frame.Report, error)) (*Volume, error) {
	for {
		v, mine, err := s.take(key)
		if err != nil {
			return nil, err
		}
		if mine {
			if err := v.write(ctx, fill); err != nil {
				return nil, err
			}
			return v, nil
		}
		select {
		case <-v.ready:
		case <-ctx.Done():
			v.Release()
			return nil, context.Cause(ctx)
		}
		if v.err == nil {
			return v, nil
		}
		v.Release()
		// Whoever wrote it may only have gone away: then it is written again, for us.
		if !errors.Is(v.err, context.Canceled) {
			return nil, v.err
		}
	}
}

// take gives the volume of a key; mine tells that the caller is to write it.
func (s *Shelf) take(key string) (v *Volume, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, ErrShelfClosed
	}
	now := s.now()
	v, found := s.volumes[key]
	if !found {
		v = &Volume{shelf: s, key: key, ready: make(chan struct{})}
		s.volumes[key] = v
	}
	v.users++
	v.asked = now
	s.clear(now)
	return v, !found, nil
}

// clear takes what has been idle off the shelf, and the longest idle ones when it is full.
func (s *Shelf) clear(now time.Time) {
	for {
		var oldest *Volume
		for _, v := range s.volumes {
			if v.users == 0 && (oldest == nil || v.asked.Before(oldest.asked)) {
				oldest = v
			}
		}
		if oldest == nil || len(s.volumes) <= s.most && now.Sub(oldest.asked) < s.idle {
			return
		}
		s.part(oldest)
	}
}

// part takes a volume off the shelf.
func (s *Shelf) part(v *Volume) {
	if s.volumes[v.key] == v {
		delete(s.volumes, v.key)
	}
	v.parted = true
	if v.users == 0 {
		v.discard()
	}
}

// Release tells that the volume is no longer read.
func (v *Volume) Release() { v.release(false) }

// Discard is Release of a volume that nobody will ask for again.
func (v *Volume) Discard() { v.release(true) }

func (v *Volume) release(part bool) {
	v.shelf.mu.Lock()
	defer v.shelf.mu.Unlock()
	v.users--
	if part && !v.parted {
		v.shelf.part(v)
		return
	}
	if v.parted && v.users == 0 {
		v.discard()
	}
}

func (v *Volume) discard() {
	if v.file == nil {
		return
	}
	_ = v.file.Close() // it was only read
	if runtime.GOOS == "windows" {
		_ = os.Remove(v.file.Name())
	}
	v.file = nil
}

// Reader reads the volume from its beginning; any number may at a time.
func (v *Volume) Reader() *io.SectionReader { return io.NewSectionReader(v.file, 0, v.Size) }

func (v *Volume) write(ctx context.Context, fill func(context.Context, io.Writer) (*frame.Report, error)) (err error) {
	returned := false
	defer func() {
		v.shelf.mu.Lock()
		if !returned {
			err = errWriter // for whoever waits; who wrote it panics on
		}
		v.err = err
		if err != nil {
			v.users--
			v.shelf.part(v)
		}
		v.shelf.mu.Unlock()
		close(v.ready)
	}()
	err = v.fill(ctx, fill)
	returned = true
	return err
}

var errWriter = errors.New("the table could not be written")

func (v *Volume) fill(ctx context.Context, fill func(context.Context, io.Writer) (*frame.Report, error)) error {
	dir := v.shelf.dir
	if dir == "" {
		dir = os.TempDir()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep table: %w", err)
	}
	file, err := os.CreateTemp(dir, ".braid-table-*")
	if err != nil {
		return fmt.Errorf("keep table: %w", err)
	}
	v.file = file
	if runtime.GOOS != "windows" { // which keeps the names of open files
		if err := os.Remove(file.Name()); err != nil {
			return fmt.Errorf("keep table: %w", err)
		}
	}
	sum := &summed{to: file, sum: sha256.New()}
	report, err := fill(ctx, sum)
	if err != nil {
		return err
	}
	v.Report, v.Size, v.SHA256 = *report, sum.size, hex.EncodeToString(sum.sum.Sum(nil))
	return nil
}

// Sweep takes off the shelf what nobody has asked for lately. Asking for a table does so too.
func (s *Shelf) Sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear(s.now())
}

// Close takes all tables off the shelf; those that are read are given up after that.
func (s *Shelf) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, v := range s.volumes {
		s.part(v)
	}
}

// summed counts and digests what goes through it.
type summed struct {
	to   io.Writer
	sum  hash.Hash
	size int64
}

// Write is io.Writer's.
func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	return n, err
}
