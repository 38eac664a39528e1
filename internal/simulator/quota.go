package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// QuotaModel tells when spent units come back.
type QuotaModel string

// The quota models.
const (
	// QuotaRolling gives each unit back one window after it was spent.
	QuotaRolling QuotaModel = "rolling"
	// QuotaFixed gives all units back at once, when the clock passes a multiple of the window (UTC).
	QuotaFixed QuotaModel = "fixed"
)

// maxPools bounds the keys that are told apart; every further key shares the pool of requests without one.
const maxPools = 10_000

// Quota is how many requests one key may make. Every admitted request costs one unit, whatever its answer.
type Quota struct {
	// Limit is the units of one window; 0 means no quota, and no X-RateLimit headers.
	Limit int
	// AnonymousLimit is Limit for requests without a key, which share one pool. 0: the same as Limit.
	AnonymousLimit int
	// Window is one hour when 0.
	Window time.Duration
	// Model is QuotaRolling when empty.
	Model QuotaModel
	// RetryAfter sends a Retry-After header with a refusal: whole seconds until the first unit returns, rounded up.
	RetryAfter bool
	// RetryAfterDate writes that header as an HTTP date instead of seconds.
	RetryAfterDate bool
	// RefusedCost makes refused requests cost a unit too, so that a client which keeps asking stays blocked.
	RefusedCost bool
}

func (q Quota) withDefaults() Quota {
	if q.Window == 0 {
		q.Window = time.Hour
	}
	if q.Model == "" {
		q.Model = QuotaRolling
	}
	return q
}

func (q Quota) validate() error {
	errs := []error{
		within("quota.limit", q.Limit, 0, maxQuota),
		within("quota.anonymous_limit", q.AnonymousLimit, 0, maxQuota),
		within("quota.window", q.Window, time.Millisecond, 366*24*time.Hour),
	}
	if q.Model != QuotaRolling && q.Model != QuotaFixed {
		errs = append(errs, fmt.Errorf("quota.model is %q, must be %q or %q", q.Model, QuotaRolling, QuotaFixed))
	}
	return errors.Join(errs...)
}

// ledger is the account of every key. Safe for concurrent use.
type ledger struct {
	quota Quota

	mu    sync.Mutex // guards pools and what they hold
	pools map[string]*pool
}

// pool is the account of one key.
type pool struct {
	spent   []time.Time // rolling: when each unit still out was spent, oldest first
	used    int         // fixed: units spent in the window
	window  time.Time   // fixed: start of the window that used belongs to
	blocked bool        // a refusal was answered and nothing was admitted since
}

// grant is the ledger's answer to one request.
type grant struct {
	limited   bool // there is a quota at all
	admitted  bool
	insisted  bool // refused although an earlier refusal had been answered
	limit     int
	remaining int
	wait      time.Duration // refused: until the first unit returns
	reset     time.Duration // until the next unit returns, 0 when none is spent
	pool      *pool
}

func newLedger(q Quota) *ledger {
	return &ledger{quota: q, pools: map[string]*pool{}}
}

// spend takes a unit from the pool of key, or says how long there is none.
func (l *ledger) spend(key string, now time.Time) grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.standing(key, now)
	if !g.limited {
		return g
	}
	p := g.pool
	switch {
	case g.admitted:
		p.take(now, l.quota)
		p.blocked = false
		g.remaining--
	case l.quota.RefusedCost:
		p.take(now, l.quota)
		p.forget(g.limit)
	}
	g.reset = p.reset(now, l.quota)
	if !g.admitted {
		g.wait = p.wait(now, l.quota)
		g.insisted = p.blocked
	}
	return g
}

// peek tells where a key stands without spending, for answers that come before the quota is asked.
func (l *ledger) peek(key string, now time.Time) grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.standing(key, now)
	g.admitted = true
	return g
}

// standing is what the next request of key would find. The caller holds mu.
func (l *ledger) standing(key string, now time.Time) grant {
	limit := l.quota.Limit
	if key == "" && l.quota.AnonymousLimit > 0 {
		limit = l.quota.AnonymousLimit
	}
	if limit == 0 {
		return grant{admitted: true}
	}
	p := l.pool(key)
	p.settle(now, l.quota)
	used := min(len(p.spent)+p.used, limit)
	return grant{limited: true, admitted: used < limit, limit: limit, remaining: limit - used, pool: p}
}

// refusalAnswered notes that the client of this pool now knows that it is blocked.
func (l *ledger) refusalAnswered(p *pool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.blocked = true
}

func (l *ledger) pool(key string) *pool {
	p, ok := l.pools[key]
	if ok {
		return p
	}
	if len(l.pools) >= maxPools && key != "" {
		return l.pool("")
	}
	p = &pool{}
	l.pools[key] = p
	return p
}

// settle gives back the units whose time has come.
func (p *pool) settle(now time.Time, q Quota) {
	if q.Model == QuotaFixed {
		if window := now.Truncate(q.Window); !window.Equal(p.window) {
			p.window, p.used = window, 0
		}
		return
	}
	returned := 0
	for returned < len(p.spent) && now.Sub(p.spent[returned]) >= q.Window {
		returned++
	}
	p.spent = p.spent[returned:]
}

// take spends one unit.
func (p *pool) take(now time.Time, q Quota) {
	if q.Model == QuotaFixed {
		p.used++
		return
	}
	p.spent = append(p.spent, now)
}

// forget drops what is beyond the latest limit units: only these can still block.
func (p *pool) forget(limit int) {
	p.used = min(p.used, limit)
	if over := len(p.spent) - limit; over > 0 {
		p.spent = p.spent[over:]
	}
}

// wait is how long until the first unit returns to a pool that has none left.
func (p *pool) wait(now time.Time, q Quota) time.Duration {
	if q.Model == QuotaFixed {
		return p.window.Add(q.Window).Sub(now)
	}
	return q.Window - now.Sub(p.spent[0])
}

// reset is how long until the next unit returns to a pool, 0 when all are there.
func (p *pool) reset(now time.Time, q Quota) time.Duration {
	if q.Model == QuotaRolling && len(p.spent) == 0 {
		return 0
	}
	return p.wait(now, q)
}

// announce sets the headers that tell a client where it stands, those of the IETF's draft or those of the gateway.
func (g grant) announce(h http.Header, q Quota, now time.Time, ietf bool) {
	if !g.limited {
		return
	}
	if ietf {
		h.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, g.limit, int64(q.Window/time.Second)))
		h.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, g.remaining, int64((g.reset+time.Second-1)/time.Second)))
	} else {
		h.Set("X-RateLimit-Limit", strconv.Itoa(g.limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(g.remaining))
	}
	if g.admitted || !q.RetryAfter {
		return
	}
	seconds := max(1, int64((g.wait+time.Second-1)/time.Second))
	if q.RetryAfterDate {
		// A date has no fraction, so it is rounded up as well: an obedient client must never come too early.
		at := now.Add(g.wait + time.Second - 1).Truncate(time.Second)
		h.Set("Retry-After", at.UTC().Format(http.TimeFormat))
		return
	}
	h.Set("Retry-After", strconv.FormatInt(seconds, 10))
}
