package simulator

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRollingUnitsComeBackOneWindowAfterTheyWereSpent(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := New(Config{Now: c.Now, Quota: Quota{Limit: 2, RetryAfter: true}})
	type step struct {
		after      time.Duration
		status     int
		remaining  string
		retryAfter string
	}
	for i, want := range []step{
		{0, 200, "1", ""},
		{20 * time.Minute, 200, "0", ""},
		{0, 429, "0", "2400"},
		{40*time.Minute - 1500*time.Millisecond, 429, "0", "2"},
		{time.Second, 429, "0", "1"},
		{500 * time.Millisecond, 200, "0", ""},
		{0, 429, "0", "1200"},
		{time.Hour, 200, "1", ""},
	} {
		c.advance(want.after)
		w := ask(t, s, oneSite)
		got := step{want.after, w.Code, w.Header().Get("X-RateLimit-Remaining"), w.Header().Get("Retry-After")}
		if got != want {
			t.Errorf("step %d: got %+v, want %+v", i, got, want)
		}
		if limit := w.Header().Get("X-RateLimit-Limit"); limit != "2" {
			t.Errorf("step %d: limit is %q", i, limit)
		}
		if w.Code == 429 && !strings.Contains(w.Body.String(), `{"error":{"code":"OVER_RATE_LIMIT","message":`) {
			t.Errorf("step %d: body is %s", i, w.Body)
		}
	}
}

func TestFixedUnitsComeBackTogetherAtTheFullHour(t *testing.T) {
	t.Parallel()
	c := newClock() // 12:20
	s := New(Config{Now: c.Now, Quota: Quota{Limit: 1, Model: QuotaFixed, RetryAfter: true, RetryAfterDate: true}})
	ask(t, s, oneSite)
	w := ask(t, s, oneSite)
	if got := w.Header().Get("Retry-After"); w.Code != 429 || got != "Sun, 01 Mar 2026 13:00:00 GMT" {
		t.Errorf("%d, Retry-After %q", w.Code, got)
	}
	c.advance(40 * time.Minute)
	if w := ask(t, s, oneSite); w.Code != 200 {
		t.Errorf("after the full hour: %d", w.Code)
	}
}

func TestEachKeyHasItsOwnPoolAndRefusalsAreFreeUnlessConfigured(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := New(Config{Now: c.Now, Quota: Quota{Limit: 2, AnonymousLimit: 1, RefusedCost: true}})
	statuses := func(key string, n int) (got []int) {
		for range n {
			got = append(got, ask(t, s, oneSite, "X-Api-Key", key).Code)
		}
		return got
	}
	if got := statuses("", 2); got[0] != 200 || got[1] != 429 {
		t.Errorf("anonymous: %v", got)
	}
	if got := statuses("a", 3); got[1] != 200 || got[2] != 429 {
		t.Errorf("key a: %v", got)
	}
	if w := ask(t, s, oneSite, "X-Api-Key", "b"); w.Code != 200 || w.Header().Get("Retry-After") != "" {
		t.Errorf("key b: %d", w.Code)
	}
	c.advance(59 * time.Minute)
	statuses("a", 1) // costs a unit, which pushes the return of one away
	c.advance(time.Minute)
	if got := statuses("a", 2); got[0] != 200 || got[1] != 429 {
		t.Errorf("key a after an hour with a refusal that cost: %v", got)
	}
}

func TestNoWindowEverHoldsMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := Quota{Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Window: time.Minute, RefusedCost: rapid.Bool().Draw(t, "cost")}.withDefaults()
		l := newLedger(q)
		now := newClock().now
		var admitted []time.Time
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30_000).Draw(t, "ms")) * time.Millisecond)
			in := 0
			for _, at := range admitted {
				if now.Sub(at) < q.Window {
					in++
				}
			}
			g := l.spend("k", now)
			if g.admitted && in >= q.Limit {
				t.Fatalf("admitted with %d of %d in the window", in, q.Limit)
			}
			if !q.RefusedCost && !g.admitted && in < q.Limit {
				t.Fatalf("refused with %d of %d in the window", in, q.Limit)
			}
			if !g.admitted && (g.wait <= 0 || g.wait > q.Window) {
				t.Fatalf("wait is %v", g.wait)
			}
			if g.admitted {
				admitted = append(admitted, now)
			}
		}
	})
}

func TestAClientThatKeepsAskingIsSeen(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := New(Config{Now: c.Now, Quota: Quota{Limit: 1}})
	for range 4 { // one admitted, one refused that could not know, two that should have
		ask(t, s, oneSite)
	}
	c.advance(time.Hour)
	ask(t, s, oneSite)
	got := s.Counters()
	if got.Refused != 3 || got.SentWhileBlocked != 2 {
		t.Errorf("refused %d, sent while blocked %d; must be 3 and 2", got.Refused, got.SentWhileBlocked)
	}
	if got.MostInFlightAfterQuota != 1 {
		t.Errorf("most in flight after quota is %d", got.MostInFlightAfterQuota)
	}
}

func TestKeysBeyondTheBoundShareOnePool(t *testing.T) {
	t.Parallel()
	l := newLedger(Quota{Limit: 1}.withDefaults())
	now := newClock().now
	for i := range maxPools {
		l.spend("key"+strconv.Itoa(i), now)
	}
	if !l.spend("one more", now).admitted || l.spend("another", now).admitted {
		t.Error("keys beyond the bound do not share the pool of requests without a key")
	}
	if len(l.pools) > maxPools+1 {
		t.Errorf("%d pools", len(l.pools))
	}
}

func TestWithoutQuotaNothingIsAnnounced(t *testing.T) {
	t.Parallel()
	w := ask(t, New(Config{}), oneSite)
	if w.Code != http.StatusOK || w.Header().Get("X-RateLimit-Limit") != "" {
		t.Errorf("%d, limit %q", w.Code, w.Header().Get("X-RateLimit-Limit"))
	}
}
