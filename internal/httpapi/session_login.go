package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"

	maxLoginBytes = 4 << 10
	loginTimeout  = 10 * time.Second // for the body to come
	loginsAMinute = 10               // from one address
	maxAddresses  = 4096             // that are remembered
)

// routeSessions serves the dashboard's login. A server without tokens has none.
func (a *api) routeSessions(mux *http.ServeMux) {
	if a.access != nil {
		mux.HandleFunc("POST "+loginPath, a.login)
		mux.HandleFunc("POST "+logoutPath, a.logout)
	}
}

// login begins a session for a token, sent as the field token of a form or of a JSON object.
func (a *api) login(w http.ResponseWriter, r *http.Request) {
	v, now := visitOf(r.Context()), a.access.now()
	v.operation = "login"
	if wait := a.access.logins.take(addressOf(r), now); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		a.turnAway(w, r, problem(contract.TooManyLogins, "this address has tried to log in %d times in a minute; wait a minute", loginsAMinute))
		return
	}
	token, err := loginToken(w, r)
	if err != nil {
		writeProblem(w, a.failure("log in", err))
		return
	}
	digest, err := access.ParseToken(token)
	if err != nil {
		err = fmt.Errorf("%w: %w", access.ErrUnauthenticated, err)
	} else {
		v.principal, err = a.access.roster().Find(digest, now)
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	if err := a.audit.write(a.audit.event(r, "login")); err != nil {
		writeProblem(w, problem(contract.AuditUnwritable, "nobody can log in, as it could not be written down who does; the coordinator's log tells more"))
		return
	}
	a.endSession(r)
	http.SetCookie(w, cookie(r, a.access.sessions.begin(digest, now), int(sessionLife.Seconds())))
	if wantsPage(r) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a.identity(v.principal)) // the reader is gone
}

// logout ends the session of the request, if it has one.
func (a *api) logout(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r.Context())
	v.operation = "logout"
	if from, err := a.access.ofSession(r); err == nil {
		v.principal = from.principal
		if err := a.audit.write(a.audit.event(r, "logout")); err != nil {
			a.log.Error("a logout could not be written down", "error", err) // that somebody has less than before is never refused
		}
	}
	a.endSession(r)
	http.SetCookie(w, cookie(r, "", -1))
	if wantsPage(r) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// endSession ends the session of a request, and the streams that it reads.
func (a *api) endSession(r *http.Request) {
	if id, err := sessionIn(r); err == nil {
		a.access.sessions.end(id)
		a.access.mu.Lock()
		defer a.access.mu.Unlock()
		a.access.dismiss()
	}
}

func cookie(r *http.Request, id string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: id, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}

// wantsPage tells a form that a browser sent by itself from one that a script sent.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// loginToken reads the token of a login. An error is a *contract.Problem, and shows nothing of what was sent.
func loginToken(w http.ResponseWriter, r *http.Request) (string, error) {
	control := http.NewResponseController(w)
	// Where a deadline is not supported the body comes from no socket.
	_ = control.SetReadDeadline(time.Now().Add(loginTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLoginBytes))
	_ = control.SetReadDeadline(time.Time{})
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "", problem(contract.TooLarge, "the body has more than %d bytes", maxLoginBytes)
	}
	if err != nil {
		return "", problem(contract.RequestInvalid, "the body did not come, or broke off")
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what cannot be read is neither
	switch media {
	case "application/json":
		var body struct {
			Token string `json:"token"`
		}
		if err := json.Unmarshal(data, &body); err != nil {
			return "", problem(contract.RequestInvalid, `the body is no JSON object with the field token`)
		}
		return strings.TrimSpace(body.Token), nil
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(data))
		if err != nil || len(form["token"]) != 1 {
			return "", problem(contract.RequestInvalid, "the form has no field token, or several")
		}
		return strings.TrimSpace(form.Get("token")), nil
	}
	return "", problem(contract.NotJSON, "Content-Type is %.60q; send application/json or application/x-www-form-urlencoded", access.Redact(media))
}

// loginLimit counts the logins of each address.
type loginLimit struct {
	mu    sync.Mutex
	tried map[netip.Prefix]*tries
}

type tries struct {
	since time.Time
	count int
}

func newLoginLimit() *loginLimit { return &loginLimit{tried: map[netip.Prefix]*tries{}} }

// take counts a login, and gives how long the address has to wait when it has used up its own.
func (l *loginLimit) take(address string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := networkOf(address)
	own := l.tried[key]
	if own == nil || now.Sub(own.since) >= time.Minute {
		own = &tries{since: now}
		l.makeRoom(now)
		l.tried[key] = own
	}
	if own.count >= loginsAMinute {
		return own.since.Add(time.Minute).Sub(now)
	}
	own.count++
	return 0
}

// makeRoom forgets addresses whose minute is over, and when that is not enough the one whose minute began first. mu is held.
func (l *loginLimit) makeRoom(now time.Time) {
	if len(l.tried) < maxAddresses {
		return
	}
	var first netip.Prefix
	var since time.Time
	for key, other := range l.tried {
		if now.Sub(other.since) >= time.Minute {
			delete(l.tried, key)
		} else if since.IsZero() || other.since.Before(since) {
			first, since = key, other.since
		}
	}
	if len(l.tried) >= maxAddresses {
		delete(l.tried, first)
	}
}

// networkOf is the address, of IPv6 the network of 64 bits: one machine has all of it.
func networkOf(address string) netip.Prefix {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{} // of a socket: all are one
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
