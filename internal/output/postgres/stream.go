package postgres

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// errGivenUp is what who fills a stream gets when nobody reads it any more.
var errGivenUp = errors.New("nobody reads the table any more")

// stream is a table that is being written by another goroutine.
type stream struct {
	*bufio.Reader
	pipe   *io.PipeReader
	unhook func() bool
	ended  chan struct{} // closed when rows and err are there
	rows   int64
	err    error
}

func startStream(ctx context.Context, fill func(context.Context, io.Writer) (int64, error)) *stream {
	r, w := io.Pipe()
	s := &stream{Reader: bufio.NewReaderSize(r, 128<<10), pipe: r, ended: make(chan struct{})}
	s.unhook = context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer close(s.ended)
		s.rows, s.err = fill(ctx, w)
		w.CloseWithError(s.err)
	}()
	return s
}

// finished gives the number of rows, once the stream has been read to its end.
func (s *stream) finished() (int64, error) {
	<-s.ended
	return s.rows, s.err
}

// end gives the stream up, read or not, and says what became of it.
func (s *stream) end() error {
	s.unhook()
	s.pipe.CloseWithError(errGivenUp)
	<-s.ended
	return s.err
}
