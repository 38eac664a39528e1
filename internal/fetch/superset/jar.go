package superset

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	maxCookies     = 50
	maxCookieBytes = 4 << 10
)

// jar has the cookies of one identity at the environment's host, to which alone they are sent. Safe for concurrent use.
type jar struct {
	mu      sync.Mutex // guards cookies
	cookies map[string]*http.Cookie
}

// take notes the cookies of an answer.
func (j *jar) take(response *http.Response, now time.Time) {
	if len(response.Header["Set-Cookie"]) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, cookie := range response.Cookies() {
		_, have := j.cookies[cookie.Name]
		switch {
		case cookie.MaxAge < 0 || cookie.MaxAge == 0 && !cookie.Expires.IsZero() && !cookie.Expires.After(now):
			delete(j.cookies, cookie.Name)
		case len(cookie.Name)+len(cookie.Value) > maxCookieBytes || !have && len(j.cookies) == maxCookies:
		default:
			if j.cookies == nil {
				j.cookies = map[string]*http.Cookie{}
			}
			j.cookies[cookie.Name] = cookie
		}
	}
}

// give adds the cookies to a request; those for TLS alone only with it.
func (j *jar) give(r *http.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(j.cookies)) {
		if cookie := j.cookies[name]; !cookie.Secure || r.URL.Scheme == "https" {
			r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value, Quoted: cookie.Quoted})
		}
	}
}

// values are the secrets in it.
func (j *jar) values() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	values := make([]string, 0, len(j.cookies))
	for _, name := range slices.Sorted(maps.Keys(j.cookies)) {
		if value := j.cookies[name].Value; len(value) >= 8 { // shorter ones are settings, such as a language
			values = append(values, value)
		}
	}
	return values
}
