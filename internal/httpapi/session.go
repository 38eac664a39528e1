package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/access"
)

const (
	sessionLife     = 12 * time.Hour
	sessionIdle     = 2 * time.Hour
	maxSessions     = 1000
	maxSessionsEach = 20 // of one token, so that nobody can end those of all others

	sessionCookie = "braid_session"
	// secureSessionCookie is its name over TLS: a browser takes one of that prefix from this host alone, and over TLS alone.
	secureSessionCookie = "__Host-" + sessionCookie
)

// sessions are the browsers that have logged in. They are this process's alone, and end with it. They know a session by the digest of its
// id, so that nobody who sees the table can use one.
type sessions struct {
	mu    sync.Mutex
	begun map[[sha256.Size]byte]*session
}

type session struct {
	token         access.Digest
	started, used time.Time
}

func newSessions() *sessions { return &sessions{begun: map[[sha256.Size]byte]*session{}} }

func (s *session) over(now time.Time) bool {
	return now.Sub(s.started) >= sessionLife || now.Sub(s.used) >= sessionIdle
}

// begin makes a session of a token and gives its id. When there are too many, the one ends that was not used for longest.
func (s *sessions) begin(token access.Digest, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	each := 0
	for key, other := range s.begun {
		if other.over(now) {
			delete(s.begun, key)
		} else if other.token == token {
			each++
		}
	}
	if each >= maxSessionsEach {
		s.endOldest(func(other *session) bool { return other.token == token })
	}
	if len(s.begun) >= maxSessions {
		s.endOldest(func(*session) bool { return true })
	}
	id := rand.Text()
	s.begun[sha256.Sum256([]byte(id))] = &session{token: token, started: now, used: now}
	return id
}

// endOldest ends the session that was not used for longest, of those that are meant. mu is held.
func (s *sessions) endOldest(meant func(*session) bool) {
	var oldest [sha256.Size]byte
	var since *session
	for key, other := range s.begun {
		if meant(other) && (since == nil || other.used.Before(since.used)) {
			oldest, since = key, other
		}
	}
	delete(s.begun, oldest)
}

// find gives the token that a session was begun with, and notes that it is used.
func (s *sessions) find(id string, now time.Time) (access.Digest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	found, ok := s.begun[key]
	if !ok {
		return access.Digest{}, false
	}
	if found.over(now) {
		delete(s.begun, key)
		return access.Digest{}, false
	}
	found.used = now
	return found.token, true
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.begun, sha256.Sum256([]byte(id)))
}

// sessionIn gives the id of the session in a request's cookie. Of several with the name none is: another page of the same host may
// have set one.
func sessionIn(r *http.Request) (string, error) {
	name := cookieName(r)
	given := r.CookiesNamed(name)
	switch {
	case len(given) == 0:
		return "", fmt.Errorf("%w: send a token in the header Authorization, as Bearer braid_…, or log in on the server's page", access.ErrUnauthenticated)
	case len(given) > 1:
		return "", fmt.Errorf("%w: the cookie %s is there %d times; delete this site's cookies", access.ErrUnauthenticated, name, len(given))
	case len(given[0].Value) > maxCredentialBytes:
		return "", fmt.Errorf("%w: the cookie %s is too long", access.ErrUnauthenticated, name)
	}
	return given[0].Value, nil
}

func cookieName(r *http.Request) string {
	if r.TLS != nil {
		return secureSessionCookie
	}
	return sessionCookie
}

// ofSession finds out who sent a request by its session. A session ends with its token.
func (a *Access) ofSession(r *http.Request) (caller, error) {
	id, err := sessionIn(r)
	if err != nil {
		return caller{}, err
	}
	token, ok := a.sessions.find(id, a.now())
	if !ok {
		return caller{}, fmt.Errorf("%w: the session has ended; log in again", access.ErrUnauthenticated)
	}
	principal, err := a.roster().Find(token, a.now())
	if err != nil {
		a.sessions.end(id)
		return caller{}, err
	}
	return caller{principal, token, id}, nil
}
