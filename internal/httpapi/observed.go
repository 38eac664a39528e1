package httpapi

import (
	"context"
	"net/http"
	"strings"
)

// Observe hears of a request before it is served, in ctx. known tells whether its sender is known, which everybody is where the server knows no
// tokens: what others send of themselves decides nothing. The context that it gives is what the request is served with. done is called when it
// has been answered.
type Observe func(ctx context.Context, r *http.Request, known func() bool) (served context.Context, traceID string, done func(Served))

// Served is what became of a request.
type Served struct {
	Route  string // the pattern that it matched, without the method; empty: there was none
	Status int    // 0: the connection was cut before there was one
	Stream bool   // the answer was a stream of events
}

// passage is what is learnt of a request while it is served. It is used by the request's goroutine alone.
type passage struct {
	served Served
	trace  string
}

type passageKey struct{}

// observed tells of each request. It stands outside of everything, so that what is refused is told of too.
func observed(observe Observe, of *Access, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &passage{}
		ctx, done := r.Context(), func(Served) {}
		if observe != nil {
			ctx, p.trace, done = observe(ctx, r, func() bool { return of.knows(r) })
		}
		defer func() {
			p.served.Stream = strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
			done(p.served)
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, passageKey{}, p)))
	})
}

// matched notes the pattern of a request.
func matched(ctx context.Context, pattern string) {
	if p, ok := ctx.Value(passageKey{}).(*passage); ok {
		_, path, has := strings.Cut(pattern, " ")
		if !has {
			path = pattern
		}
		p.served.Route = path
	}
}

// outcome notes the status of the answer.
func outcome(ctx context.Context, status int) {
	if p, ok := ctx.Value(passageKey{}).(*passage); ok {
		p.served.Status = status
	}
}

// traceOf is the id of the trace that a request is of; empty: of none.
func traceOf(ctx context.Context) string {
	if p, ok := ctx.Value(passageKey{}).(*passage); ok {
		return p.trace
	}
	return ""
}
