package httpapi

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

// originGuard refuses what a browser sends from a page of another origin and could change something.
func originGuard(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, problem(contract.CrossOrigin, "the request comes from a page of another origin; send it from a program, or from this server's own pages"))
	}))
	return guard.Handler(next)
}

// urlGuard refuses requests that have a token in their URL: URLs are written to logs and histories all along the way.
func urlGuard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parameters := r.URL.Query()
		told := parameters.Has("token") || parameters.Has("access_token") || access.Redact(r.URL.Path) != r.URL.Path
		for name, values := range parameters {
			told = told || access.Redact(name) != name || slices.ContainsFunc(values, func(v string) bool { return access.Redact(v) != v })
		}
		if told {
			writeProblem(w, problem(contract.TokenInURL, "the URL has a token in it, where logs and histories keep it; revoke that token, and send another one in the header Authorization"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostGuard refuses requests for a host name that the server does not know itself by. A page whose name was made to
// resolve to this machine (DNS rebinding) is of the same origin to the browser, but gives itself away by that name. Over
// loopback only loopback's names and those in hosts pass; over another address every name does when hosts is empty.
func hostGuard(hosts []string, next http.Handler) http.Handler {
	known := make([]string, len(hosts))
	for i, host := range hosts {
		known[i] = strings.ToLower(host)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostName(r.Host)
		if isLoopbackName(host) || slices.Contains(known, host) || len(known) == 0 && !overLoopback(r) {
			next.ServeHTTP(w, r)
			return
		}
		writeProblem(w, problem(contract.UnknownHost, "the request is for the host %.100q; call the server by localhost, or add the name to its known hosts", r.Host))
	})
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func isLoopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// overLoopback tells whether the connection came in over loopback; where it cannot be told, it is taken for granted.
func overLoopback(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || address.IP.IsLoopback()
}

// routed gives what the mux has a route for to the door, with the route's pattern, and answers the rest with a problem instead of
// plain text.
func routed(mux *http.ServeMux, door func(w http.ResponseWriter, r *http.Request, pattern string, next http.Handler)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		matched(r.Context(), pattern)
		if pattern != "" {
			door(w, r, pattern, mux)
			return
		}
		refusal := &refusal{header: http.Header{}}
		handler.ServeHTTP(refusal, r)
		if refusal.status == http.StatusMethodNotAllowed {
			allow := refusal.header.Get("Allow")
			w.Header().Set("Allow", allow)
			if r.Method == http.MethodOptions { // without a word of other origins, which may read nothing
				w.WriteHeader(http.StatusNoContent)
				return
			}
			writeProblem(w, problem(contract.MethodNotAllowed, "%.10s is not possible here; possible are %s", r.Method, allow))
			return
		}
		writeProblem(w, problem(contract.NoRoute, "there is nothing at %.100q; /openapi.json lists the paths", r.URL.Path))
	})
}

// refusal takes the status and the header that the mux answers with, and drops its text.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) WriteHeader(status int)      { r.status = status }
func (r *refusal) Write(p []byte) (int, error) { return len(p), nil }
