package httpapi

import (
	"io"
	"net/http"
	"time"
)

const (
	// bodyGrace is how long a body may take whatever its size, and bodyRate how many bytes of it have to come in each second beyond.
	bodyGrace = 20 * time.Second
	bodyRate  = 64 << 10
)

// pacedBody is a body that has to come at a rate: who sends it drop by drop, to hold a connection, is cut off. It still may take
// bodyTimeout in all.
type pacedBody struct {
	body    io.ReadCloser
	control *http.ResponseController
	begun   time.Time
	read    int64
}

// Read is io.Reader's.
func (b *pacedBody) Read(p []byte) (int, error) {
	allowed := bodyGrace + time.Duration(b.read)*time.Second/bodyRate
	// Where a deadline is not supported the body comes from no socket.
	_ = b.control.SetReadDeadline(b.begun.Add(min(allowed, bodyTimeout)))
	n, err := b.body.Read(p)
	b.read += int64(n)
	return n, err
}

// Close is io.Closer's.
func (b *pacedBody) Close() error { return b.body.Close() }
