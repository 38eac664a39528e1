package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http/httptrace"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// timeoutError tells which of the definition's timeouts ended a request.
type timeoutError struct {
	what  string
	key   string
	after time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s for %s (timeouts.%s)", e.what, e.after, e.key)
}

// Timeout marks the error as one of time, as net.Error does.
func (*timeoutError) Timeout() bool { return true }

// watchdog ends the context of a request that takes longer than the definition's timeouts: to have a connection, without
// a byte received, and as a whole.
type watchdog struct {
	timeouts   service.Timeouts
	cancel     context.CancelCauseFunc
	connecting *time.Timer
	stalled    *time.Timer
	page       *time.Timer
}

// watchOver starts a watchdog. Its context ends with a *timeoutError as the cause. Call stop when the answer is read.
func watchOver(ctx context.Context, timeouts service.Timeouts) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{timeouts: timeouts, cancel: cancel}
	w.connecting = w.after(timeouts.Connect, "no connection", "connect")
	w.stalled = w.after(timeouts.Stall, "no byte received", "stall")
	w.page = w.after(timeouts.Page, "the answer was not complete", "page")
	trace := &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { w.connected() },
		GotFirstResponseByte: w.received,
	}
	return httptrace.WithClientTrace(ctx, trace), w
}

func (w *watchdog) after(d time.Duration, what, key string) *time.Timer {
	return time.AfterFunc(d, func() { w.cancel(&timeoutError{what: what, key: key, after: d}) })
}

// connect begins the wait for a connection, again for each redirect.
func (w *watchdog) connect() {
	w.stalled.Stop()
	w.connecting.Reset(w.timeouts.Connect)
}

func (w *watchdog) connected() {
	w.connecting.Stop()
	w.stalled.Reset(w.timeouts.Stall)
}

func (w *watchdog) received() { w.stalled.Reset(w.timeouts.Stall) }

// pause lets a stall be none until something is received.
func (w *watchdog) pause() { w.stalled.Stop() }

func (w *watchdog) stop() {
	w.connecting.Stop()
	w.stalled.Stop()
	w.page.Stop()
	w.cancel(nil)
}

// reader passes on what it reads, and each byte that it gets lets the stall begin anew.
func (w *watchdog) reader(r io.Reader) io.Reader { return watchedReader{r, w} }

type watchedReader struct {
	r io.Reader
	w *watchdog
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if n > 0 {
		r.w.received()
	}
	return n, err
}
