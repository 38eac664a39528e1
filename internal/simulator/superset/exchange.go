package superset

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// pieceBytes is how much of an answer is written at once.
const pieceBytes = 32 << 10

// exchange is one request and its answer. As a ResponseWriter it holds the last piece back until finish, so that a request has left before
// its client can have read the whole answer.
type exchange struct {
	s      *Server
	st     *state
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	chart  *chartRequest // of chart/data; nil: cannot be read at all
	badly  error         // why it is no good request
	caller *caller
	denied *refusal // why there is no caller
	fault  draw
	record *Request
	once   sync.Once // leaving

	status   int
	pending  []byte
	written  int64
	started  bool // the status line is out
	headers  http.Header
	zip      *gzip.Writer
	truths   []Truth
	fresh    *claims // a session that this answer starts
	channel  string  // of asynchronous events
	gone     bool    // the client, or the connection by a fault
	cutAfter int64   // bytes of the body; 0: whole
}

// refusal is an answer that is not what was asked for.
type refusal struct {
	status int
	body   any
}

// arrive enters the request into the record, and reads it.
func (s *Server) arrive(w http.ResponseWriter, r *http.Request, route string) *exchange {
	x := &exchange{s: s, st: s.state.Load(), w: w, r: r, record: &Request{Route: route}, headers: w.Header(), status: http.StatusOK}
	s.seen.arrived(x.record, s.since)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err == nil {
		x.body = body
	}
	x.caller, x.denied = x.identify()
	if route == ChartData {
		x.chart, x.badly = readChartRequest(x.body)
	}
	s.seen.known(x.record, func(record *Request) {
		if c := x.caller; c != nil {
			record.Identity, record.Role = c.name, c.role()
		}
		if x.chart != nil {
			record.Chart, record.Dashboard, record.Force = x.chart.slice, x.chart.dashboard, x.chart.Force
		}
		if len(x.body) > 0 {
			sum := sha256.Sum256(x.body)
			record.PayloadHash = hex.EncodeToString(sum[:])
		}
	})
	return x
}

// since is the time of the record.
func (s *Server) since() time.Duration { return time.Since(s.started) }

// leave says that the request is no longer in flight.
func (x *exchange) leave() {
	x.once.Do(func() {
		x.s.seen.left(x.record, x.s.since, func(r *Request) {
			r.Status, r.Bytes, r.Queries, r.Fault = x.status, x.written+int64(len(x.pending)), x.truths, x.fault.fault.Action
			r.Abandoned = x.gone || x.r.Context().Err() != nil
		})
	})
}

// wait lets time pass, and tells whether anybody still waits for the answer.
func (x *exchange) wait(d time.Duration) bool {
	return pause(x.lifetime(), d)
}

// lifetime ends when nobody wants the answer any more, or, where orphans go on, with the server.
func (x *exchange) lifetime() context.Context {
	if x.st.config.Orphans {
		return x.s.background
	}
	return x.r.Context()
}

func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Header, WriteHeader and Write are those of a ResponseWriter.
func (x *exchange) Header() http.Header { return x.headers }

// WriteHeader sets the status of the answer.
func (x *exchange) WriteHeader(status int) { x.status = status }

// Write takes a piece of the body.
func (x *exchange) Write(p []byte) (int, error) {
	if x.zip != nil {
		return x.zip.Write(p)
	}
	return x.take(p)
}

// take holds p back until there is a whole piece of it.
func (x *exchange) take(p []byte) (int, error) {
	x.pending = append(x.pending, p...)
	piece := x.pieceSize()
	for len(x.pending) > piece && !x.gone {
		x.send(x.pending[:piece])
		x.pending = x.pending[:copy(x.pending, x.pending[piece:])]
	}
	if x.gone {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func (x *exchange) pieceSize() int {
	if n := x.st.config.Latency.BodyBytes; n > 0 && x.record.Route == ChartData {
		return n
	}
	return pieceBytes
}

// send writes to the connection.
func (x *exchange) send(p []byte) {
	x.start()
	if x.cutAfter > 0 && x.written+int64(len(p)) >= x.cutAfter {
		p = p[:x.cutAfter-x.written]
		_, _ = x.w.Write(p) // the connection ends next
		x.written += int64(len(p))
		x.flush()
		x.breakOff()
	}
	if _, err := x.w.Write(p); err != nil {
		x.gone = true
	}
	x.written += int64(len(p))
	if slow := x.st.config.Latency; slow.BodyBytes > 0 && x.record.Route == ChartData {
		x.flush()
		if !x.wait(slow.BodyTick) {
			x.gone = true
		}
	}
}

func (x *exchange) start() {
	if !x.started {
		x.started = true
		x.gone = !x.hold() || x.gone
		x.w.WriteHeader(x.status)
	}
}

func (x *exchange) flush() {
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}

// finish leaves, and only then writes what is left of the answer.
func (x *exchange) finish() {
	if x.zip != nil {
		_ = x.zip.Close() // writes into x.pending
		x.zip = nil
	}
	if x.cutAfter > 0 && !x.gone {
		x.cutAfter = min(x.cutAfter, max(1, x.written+int64(len(x.pending))-1))
		x.send(x.pending)
	}
	if !x.gone {
		x.start()
	}
	x.leave()
	if x.gone {
		return
	}
	_, _ = x.w.Write(x.pending) // the client may have gone
}

// compress compresses what follows, if the client takes it.
func (x *exchange) compress() {
	if x.st.config.Gzip && strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
		x.headers.Set("Content-Encoding", "gzip")
		x.zip = gzip.NewWriter(pieces{x})
	}
}

// pieces is the way of compressed bytes.
type pieces struct{ x *exchange }

func (p pieces) Write(b []byte) (int, error) { return p.x.take(b) }

// reply answers with a JSON document.
func (x *exchange) reply(status int, body any) {
	x.headers.Set("Content-Type", "application/json; charset=utf-8")
	x.WriteHeader(status)
	out := bufio.NewWriter(x)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // of our own types, into memory or to a client that may have gone
	_ = out.Flush()          // likewise
}

func (x *exchange) fail(status int, body any) { x.reply(status, body) }

func (x *exchange) refuse(r *refusal) { x.fail(r.status, r.body) }

func (x *exchange) text(status int, mediaType, body string) {
	x.headers.Set("Content-Type", mediaType)
	x.WriteHeader(status)
	_, _ = io.WriteString(x, body) // the client may have gone
}

func (x *exchange) redirect(location string) {
	x.headers.Set("Location", location)
	x.text(http.StatusFound, "text/html; charset=utf-8", "<!doctype html>\n<title>Redirecting...</title>\n<h1>Redirecting...</h1>\n")
}
