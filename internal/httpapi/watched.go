package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

const maxLoggedPath = 200

// retryAfter is after how many seconds somebody asks again who was told that it is not possible now.
const retryAfter = 2

// watched logs one line for each request (of polls at the level debug), sets the headers that every answer has, gives up readers that do not read, and
// turns a panic into a problem. It logs no query string and no header: they hold what people ask.
func watched(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, start := r.Context(), time.Now()
		answer := &answer{ResponseWriter: w, control: http.NewResponseController(w)}
		visit := &visit{requestID: requestID(r), remote: networkOf(addressOf(r)).String(), answer: answer}
		r = r.WithContext(context.WithValue(r.Context(), visitKey{}, visit))
		w.Header().Set(requestIDHeader, visit.requestID)
		if r.ContentLength != 0 {
			// Also of a body that nobody reads, which the server drops behind the answer. Where it is read it has a deadline of its own.
			_ = answer.control.SetReadDeadline(start.Add(bodyGrace))
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if r.TLS != nil && !isLoopbackName(hostName(r.Host)) {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		defer visit.end()
		defer func() {
			thrown := recover()
			cut := thrown != nil || answer.brokeOff()
			if thrown != nil && thrown != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so too
				log.Error("panic", "request_id", visit.requestID, "method", r.Method, "panic", thrown, "stack", string(debug.Stack()))
				if answer.status == 0 {
					writeProblem(answer, problem(contract.Internal, "unexpected error; the coordinator's log tells more"))
					cut = false
				}
			}
			tell := log.Info
			if isPoll(r) && answer.status < http.StatusBadRequest && !cut {
				tell = log.Debug
			}
			line := []any{
				"request_id", visit.requestID, "who", visit.name(), "method", r.Method, "path", logged(r.URL.Path),
				"status", answer.status, "duration", time.Since(start), "cut", cut,
			}
			if trace := traceOf(ctx); trace != "" {
				line = append(line, "trace_id", trace)
			}
			tell("request", line...)
			outcome(ctx, answer.status)
			if cut {
				panic(http.ErrAbortHandler)
			}
			_ = answer.extend() // for what is still buffered
		}()
		next.ServeHTTP(answer, r)
	})
}

// logged is a path as it may stand in the log: first without tokens, of which else a part could stay, and then cut.
func logged(path string) string {
	path = access.Redact(path)
	return path[:min(len(path), maxLoggedPath)]
}

// isPoll tells what is asked again and again by whoever watches: how queries stand, and how the server is.
func isPoll(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if strings.HasPrefix(r.URL.Path, assetsPath) {
		return true // the files of the page that watches
	}
	rest, ofQueries := strings.CutPrefix(r.URL.Path, queriesPath)
	watches := strings.HasSuffix(rest, "/events") || r.URL.Path == allEventsPath || isLiveView(r.URL.Path)
	return r.URL.Path == metricsPath || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || watches || ofQueries && strings.Count(rest, "/") <= 1
}
