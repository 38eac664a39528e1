package httpapi

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

// originGuard refuses what a browser sends from a page of another origin and could change something, and what such a page lets it read in
// the background: the page may not see the answer, but it could keep the server busy. That somebody follows a link is let through.
func (a *api) originGuard(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	deny := func(w http.ResponseWriter, r *http.Request) {
		a.turnAway(w, r, problem(contract.CrossOrigin, "the request comes from a page of another origin; send it from a program, or from this server's own pages"))
	}
	guard.SetDenyHandler(http.HandlerFunc(deny))
	guarded := guard.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if readsInBackground(r) {
			deny(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// readsInBackground tells whether a browser says that a page of another origin asks for data, other than as the page to go to.
func readsInBackground(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "cross-site" && site != "same-site" || r.URL.Path != metricsPath && r.URL.Path != "/v1" && !strings.HasPrefix(r.URL.Path, "/v1/") {
		return false
	}
	into := r.Header.Get("Sec-Fetch-Dest")
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || into != "document" && into != ""
}

// turnAway refuses a request before anybody looks which route it is for, and writes that down.
func (a *api) turnAway(w http.ResponseWriter, r *http.Request, p *contract.Problem) {
	if v := visitOf(r.Context()); v.operation == "" {
		v.operation = logged(r.Method[:min(len(r.Method), 10)] + " " + r.URL.Path)
	}
	a.audit.refusal(r, p)
	writeProblem(w, p)
}

// urlGuard refuses requests that have a token in their URL: URLs are written to logs and histories all along the way.
func (a *api) urlGuard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hasToken(r) {
			a.turnAway(w, r, problem(contract.TokenInURL, "the URL has a token in it, where logs and histories keep it; revoke that token, and send another one in the header Authorization"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hasToken looks at the URL as it came and as it may be read, also where it is malformed, which readers of a URL pass over: what is
// written to logs is the text.
func hasToken(r *http.Request) bool {
	for _, text := range []string{r.RequestURI, r.URL.String(), r.URL.Path, r.URL.RawQuery} {
		if plain := unescaped(text); access.Redact(text) != text || access.Redact(plain) != plain {
			return true
		}
	}
	parameters := strings.FieldsFunc(r.URL.RawQuery, func(c rune) bool { return c == '&' || c == ';' })
	return slices.ContainsFunc(parameters, func(parameter string) bool {
		name, _, _ := strings.Cut(parameter, "=")
		name = strings.ToLower(strings.TrimSpace(unescaped(name)))
		return name == "token" || name == "access_token"
	})
}

// unescaped takes out what is escaped, as far as that can be read, however often it was done.
func unescaped(text string) string {
	for range 3 {
		var plain strings.Builder
		for i := 0; i < len(text); i++ {
			if text[i] == '%' && i+2 < len(text) {
				if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
					plain.WriteByte(byte(c))
					i += 2
					continue
				}
			}
			plain.WriteByte(text[i])
		}
		if plain.Len() == len(text) {
			return text
		}
		text = plain.String()
	}
	return text
}

// hostGuard refuses requests for a host name that the server does not know itself by. A page whose name was made to
// resolve to this machine (DNS rebinding) is of the same origin to the browser, but gives itself away by that name. Over
// loopback only loopback's names and those in hosts pass; over another address every name does when hosts is empty.
func (a *api) hostGuard(hosts []string, next http.Handler) http.Handler {
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
		a.turnAway(w, r, problem(contract.UnknownHost, "the request is for the host %.100q; call the server by localhost, or add the name to its known hosts", access.Redact(r.Host)))
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
