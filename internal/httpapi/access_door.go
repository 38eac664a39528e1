package httpapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

// maxCredentialBytes bounds the header Authorization; a token has 55 bytes.
const maxCredentialBytes = 512

// caller is who sent a request, and what tells so.
type caller struct {
	principal *access.Principal
	token     access.Digest
	session   string // empty: the token itself was sent
}

// admit lets a request through to its route when whoever sent it may, and writes changes and refusals down.
func (a *api) admit(w http.ResponseWriter, r *http.Request, pattern string, next http.Handler) {
	v, required := visitOf(r.Context()), a.rules[pattern]
	if v.operation = a.operations[pattern]; v.operation == "" {
		v.operation = pattern
	}
	v.query, v.ofLoad = queryIn(pattern, r), isOfLoad(pattern)
	if a.access != nil && required.permission != anyone {
		from, err := a.access.caller(r)
		if err == nil {
			v.principal = from.principal
			err = required.allow(from.principal)
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		if !required.changes { // a change is finished
			ctx, done := a.access.attend(r.Context(), from, v.answer.dismiss)
			defer done()
			r = r.WithContext(ctx)
		}
	}
	if !required.changes {
		next.ServeHTTP(w, r)
		return
	}
	if err := a.audit.begin(r); err != nil {
		writeProblem(w, problem(contract.AuditUnwritable, "nothing was changed, as it could not be written down who changes it; the coordinator's log tells more"))
		return
	}
	ended := false
	defer func() { a.audit.end(r, ended) }()
	next.ServeHTTP(w, r)
	ended = true
}

// caller finds out who sent a request. The error wraps access.ErrUnauthenticated, and shows nothing of what was sent.
func (a *Access) caller(r *http.Request) (caller, error) {
	headers := r.Header.Values("Authorization")
	switch {
	case len(headers) == 0:
		return a.ofSession(r)
	case len(headers) > 1:
		return caller{}, fmt.Errorf("%w: the header Authorization is there %d times; send it once", access.ErrUnauthenticated, len(headers))
	case len(headers[0]) > maxCredentialBytes:
		return caller{}, fmt.Errorf("%w: the header Authorization has %d bytes, and no token is as long", access.ErrUnauthenticated, len(headers[0]))
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return caller{}, fmt.Errorf("%w: the header Authorization is not of the form Bearer braid_…", access.ErrUnauthenticated)
	}
	digest, err := access.ParseToken(strings.Trim(token, " "))
	if err != nil {
		return caller{}, fmt.Errorf("%w: %w", access.ErrUnauthenticated, err)
	}
	principal, err := a.roster().Find(digest, a.now())
	if err != nil {
		return caller{}, err
	}
	return caller{principal: principal, token: digest}, nil
}

// knows tells whether a request comes from somebody with a token or a session that is valid; of a server without tokens, always.
func (a *Access) knows(r *http.Request) bool {
	if a == nil {
		return true
	}
	_, err := a.caller(r)
	return err == nil
}

// refuse answers whom a route does not let in, and writes it down.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.audit.refusal(r, err)
	if errors.Is(err, access.ErrUnauthenticated) {
		challenge := `Bearer realm="braid"`
		if len(r.Header.Values("Authorization")) > 0 {
			challenge += `, error="invalid_token"` // RFC 6750, 3.1
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	writeProblem(w, contract.NewProblem(contract.KindOf(err), err.Error()))
}

// addressOf is the address that a request comes from: of a proxy, where one is in front.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
