package superset

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxAddresses bounds the clients that are counted in one second.
const maxAddresses = 10_000

// limiter counts the requests of each client in the second under way, by the server's clock. Safe for concurrent use.
type limiter struct {
	mu     sync.Mutex // guards all below
	second int64
	counts map[string]int
}

func newLimiter() *limiter { return &limiter{counts: map[string]int{}} }

func (l *limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.counts)
}

// take counts one request; ok is false for one above the limit.
func (l *limiter) take(client string, limit int, now time.Time) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.second != now.Unix() {
		l.second = now.Unix()
		clear(l.counts)
	}
	if _, known := l.counts[client]; !known && len(l.counts) >= maxAddresses {
		return false
	}
	l.counts[client]++
	return l.counts[client] <= limit
}

func perSecond(n int) string { return fmt.Sprintf("429 Too Many Requests: %d per 1 second", n) }

// withinLimit counts the request, and answers 429 above a limit.
func (x *exchange) withinLimit() bool {
	host, _, err := net.SplitHostPort(x.r.RemoteAddr)
	if err != nil {
		host = x.r.RemoteAddr
	}
	config, now, words := x.st.config, x.s.Now(), ""
	if n := config.RateLimit; n > 0 && !x.s.limiter.take(host, n, now) {
		words = perSecond(n)
	}
	if n := config.LoginRateLimit; n > 0 && (x.record.Route == "login" || x.record.Route == "login_form") && !x.s.limiter.take("login "+host, n, now) {
		words = perSecond(n)
	}
	if words == "" {
		return true
	}
	if config.LimiterHeaders {
		x.headers.Set("Retry-After", "1")
	}
	x.faithful(http.StatusTooManyRequests, words, false)
	return false
}

// stills stop all answers for a while. Safe for concurrent use.
type stills struct {
	mu    sync.Mutex // guards until
	until time.Duration
}

// Freeze lets no request be answered for a while from now on, in real time.
func (s *Server) Freeze(d time.Duration) { s.stills.extend(s.since() + d) }

func (f *stills) extend(until time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = max(f.until, until)
}

// pass waits while the server stands still, and tells whether anybody still waits for the answer.
func (f *stills) pass(x *exchange) bool {
	if x.record.Route == ChartData {
		for _, freeze := range x.st.config.Latency.Freeze {
			if freeze.At == x.record.RouteOrdinal {
				x.s.Freeze(freeze.For)
			}
		}
	}
	return x.hold()
}

// hold waits to the end of a standstill, and tells whether anybody still waits for the answer.
func (x *exchange) hold() bool {
	f := &x.s.stills
	for {
		f.mu.Lock()
		rest := f.until - x.s.since()
		f.mu.Unlock()
		if !x.wait(rest) || rest <= 0 {
			return rest <= 0 && x.lifetime().Err() == nil
		}
	}
}
