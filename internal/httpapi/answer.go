package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a reader may leave one write waiting before it is given up.
	writeTimeout = time.Minute
	// readerGrace is how long an answer may take whatever its size, and readerRate how many bytes of it have to be taken in each second beyond:
	// who reads drop by drop holds a table, and a connection. A stream of events has all the time that there is.
	readerGrace = time.Minute
	readerRate  = 16 << 10
)

var errBrokenOff = errors.New("the answer is broken off")

// dismissGrace is how long a write may still take that was under way when whoever asked was dismissed.
const dismissGrace = time.Second

// answer notes the status, gives each write its own deadline, and ends soon when whoever asked is dismissed. The goroutine of the request
// uses it, and dismiss may be called by any.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int // written under mu, by the goroutine of the request alone

	begun   time.Time // when it began to be written
	written int64
	stream  bool

	mu        sync.Mutex // guards what is below, and the order of write deadlines
	dismissed bool
	broken    bool // something was held back that nobody else tells of
}

// begin notes the status before the first write.
func (a *answer) begin(status int) {
	if a.status != 0 {
		return
	}
	a.begun = time.Now()
	a.stream = strings.HasPrefix(a.Header().Get("Content-Type"), eventStreamType)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

// extend sets the deadline of what is written next. It tells whether it may be.
func (a *answer) extend() bool {
	until := time.Now().Add(writeTimeout)
	if paced := a.begun.Add(readerGrace + time.Duration(a.written)*time.Second/readerRate); !a.stream && !a.begun.IsZero() && paced.Before(until) {
		until = paced
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dismissed && a.status < http.StatusBadRequest {
		a.broken = a.broken || !a.stream
		return false
	}
	// Where a deadline is not supported the answer goes to no socket.
	_ = a.control.SetWriteDeadline(until)
	return true
}

// dismiss lets nothing more be written, but for a problem.
func (a *answer) dismiss() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dismissed = true
	if a.status != 0 {
		_ = a.control.SetWriteDeadline(time.Now().Add(dismissGrace))
	}
}

// brokeOff tells whether the connection has to be cut, so that nobody takes what was sent for the whole.
func (a *answer) brokeOff() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.broken
}

// WriteHeader sends the status.
func (a *answer) WriteHeader(status int) {
	a.begin(status)
	if !a.extend() {
		return
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		a.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (a *answer) Write(p []byte) (int, error) {
	a.begin(http.StatusOK)
	if !a.extend() {
		return 0, errBrokenOff
	}
	n, err := a.ResponseWriter.Write(p)
	a.written += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController the writer below.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
