package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

// at is how a query of 100 chunks with one page each stands.
func standingAt(completed int, state messages.QueryState) *messages.Status {
	return &messages.Status{
		Query:    &messages.Query{ID: "k7f2c3aa", Collection: "daily", Service: "rivers", Chunks: 100, State: state, Run: 1},
		Progress: &messages.Progress{Completed: completed, Pages: int64(completed), Requests: int64(completed), Rows: int64(completed) * 10},
	}
}

func TestTheTimeThatIsLeftIsByTheRecentRate(t *testing.T) {
	start := time.Date(2026, 9, 24, 14, 0, 0, 0, time.UTC)
	var p pace
	left := func(s *messages.Status, after time.Duration) (time.Duration, bool) {
		t.Helper()
		now := start.Add(after)
		p.take(s, now)
		return p.left(s, now)
	}
	if d, known := left(standingAt(0, messages.Running), 0); known {
		t.Errorf("%s is left of what has not begun", d)
	}
	if d, known := left(standingAt(1, messages.Running), 2*time.Second); known {
		t.Errorf("%s is left after two seconds", d)
	}
	if d, known := left(standingAt(10, messages.Running), 10*time.Second); !known || d != 90*time.Second {
		t.Errorf("%s, %t", d, known)
	}
	// The quota pauses it for ten minutes, which is no work.
	paused := standingAt(10, messages.Interrupted)
	paused.Query.WaitUpTo = time.Hour
	resume := start.Add(10 * time.Minute)
	paused.Query.Stop = &messages.Stop{Kind: string(messages.QuotaExhausted), At: start.Add(11 * time.Second), Until: resume}
	if !paused.Query.ResumesByItself() {
		t.Fatal("it does not resume by itself")
	}
	if d, known := left(paused, 11*time.Second); !known || d.Round(time.Second) != 10*time.Minute-11*time.Second+99*time.Second {
		t.Errorf("%s, %t", d, known)
	}
	left(paused, 10*time.Minute)
	if d, known := left(standingAt(10, messages.Running), 10*time.Minute+time.Second); !known || d.Round(time.Second) > 110*time.Second {
		t.Errorf("after the pause %s, %t", d, known)
	}
	// What the last minute did counts, and not what was before.
	for i := range 60 {
		left(standingAt(10+i/2, messages.Running), 10*time.Minute+time.Duration(2+i)*time.Second)
	}
	if d, known := left(standingAt(40, messages.Running), 11*time.Minute+2*time.Second); !known || d < 100*time.Second || d > 150*time.Second {
		t.Errorf("at half the rate %s, %t", d, known)
	}
	// Another run begins anew.
	again := standingAt(40, messages.Running)
	again.Query.Run = 2
	if d, known := left(again, 20*time.Minute); known {
		t.Errorf("of another run %s", d)
	}
}

func TestNoTimeIsToldThatTheQuotaMayMakeLonger(t *testing.T) {
	start := time.Date(2026, 9, 24, 14, 0, 0, 0, time.UTC)
	var p pace
	p.take(standingAt(0, messages.Running), start)
	s := standingAt(10, messages.Running)
	p.take(s, start.Add(10*time.Second))
	for _, c := range []struct {
		left int64
		want bool
	}{{90, true}, {89, false}, {0, false}} {
		s.Progress.Quotas = []messages.PoolLeft{{Pool: "p", Left: c.left, Limit: 1000}}
		if _, known := p.left(s, start.Add(10*time.Second)); known != c.want {
			t.Errorf("with %d of the quota left it is known: %t", c.left, known)
		}
	}
	s.Progress.Quotas = nil
	s.Progress.Workers, s.Progress.Waiting = &messages.Attendance{}, 5
	if _, known := p.left(s, start.Add(10*time.Second)); known {
		t.Error("nobody works, and it is known when that ends")
	}
}

func TestEventsAndLinesTellTheSame(t *testing.T) {
	now := time.Date(2026, 9, 24, 14, 2, 10, 0, time.UTC)
	var p pace
	p.take(standingAt(0, messages.Running), now.Add(-10*time.Second))
	s := standingAt(10, messages.Running)
	s.Progress.Quotas = []messages.PoolLeft{{Pool: "api-data-gov", Left: 588, Limit: 1000}}
	p.take(s, now)
	const line = "2026-09-24T14:02:10Z query=k7f2c3aa state=running chunks=10/100 requests=10/100 rows=100 quota=588/1000 eta=90s"
	if got := plainLine(s, &p, now); got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
	const event = `{"message_type":"progress","time":"2026-09-24T14:02:10Z","query":"k7f2c3aa","state":"running","chunks":{"done":10,"failed":0,"total":100},` +
		`"requests":{"done":10,"expected":100},"rows":100,"quota":{"pool":"api-data-gov","remaining":588,"limit":1000},"eta_s":90}`
	if got := jsonLine(s, &p, now); got != event {
		t.Errorf("got  %s\nwant %s", got, event)
	}
	const words = "daily  10/100 chunks  10/100 requests  100 rows  quota 588/1,000  10s, about 1m30s left"
	bar := &barProgress{started: now.Add(-10 * time.Second), pace: p}
	if got := fitted(bar.words(s, now), 120); got != words {
		t.Errorf("got  %s\nwant %s", got, words)
	}
	if got := jsonNote("a <b> & \"c\"\nd"); !json.Valid([]byte(got)) || strings.Contains(got, "\n") {
		t.Error(got)
	}
}

func TestALineFitsItsTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := standingAt(rapid.IntRange(0, 100).Draw(t, "completed"), messages.Running)
		s.Progress.Rows = rapid.Int64Range(0, 1e12).Draw(t, "rows")
		s.Progress.Failed = rapid.IntRange(0, 10).Draw(t, "failed")
		s.Progress.Quotas = []messages.PoolLeft{{Left: rapid.Int64Range(0, 1e6).Draw(t, "left"), Limit: 1e6}}
		width := rapid.IntRange(-1, 200).Draw(t, "width")
		line := fitted((&barProgress{started: time.Now()}).words(s, time.Now()), width)
		most := width
		if width <= 0 {
			most = listWidth
		}
		if n := utf8.RuneCountInString(line); n >= most && n > 1 || line == "" {
			t.Errorf("%d characters in %d: %q", n, width, line)
		}
		if most > 30 && !strings.Contains(line, "chunks") {
			t.Errorf("%d: %q does not tell the chunks", width, line)
		}
	})
}
