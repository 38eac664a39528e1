package quota_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

// server is the brute-force model of a service: it counts each request when it looks at it.
type server struct {
	model  string
	limit  int64
	window time.Duration
	phase  time.Time // a boundary of fixed windows
	spent  []time.Time
	tokens float64
	filled time.Time
}

// serve takes a unit at t, if there is one.
func (s *server) serve(t time.Time) (ok bool, remaining int64, reset time.Time) {
	remaining, reset = s.standing(t)
	if remaining < 1 {
		return false, 0, reset
	}
	s.spent = append(s.spent, t)
	if s.model == quota.Bucket {
		s.tokens--
	}
	remaining, reset = s.standing(t)
	return true, remaining, reset
}

func (s *server) standing(t time.Time) (remaining int64, reset time.Time) {
	switch s.model {
	case quota.Bucket:
		s.tokens = min(float64(s.limit), s.tokens+float64(s.limit)*float64(t.Sub(s.filled))/float64(s.window))
		s.filled = t
		return int64(s.tokens + 1e-6), time.Time{}
	case quota.Fixed:
		begun := s.phase.Add(t.Sub(s.phase) / s.window * s.window)
		n := int64(0)
		for _, at := range s.spent {
			if !at.Before(begun) {
				n++
			}
		}
		return s.limit - n, begun.Add(s.window)
	}
	n := int64(0)
	for _, at := range s.spent {
		if t.Sub(at) < s.window {
			n++
		}
	}
	return s.limit - n, time.Time{}
}

type flight struct {
	process   int
	sent      time.Time
	total     int64
	answered  bool
	remaining int64
	reset     time.Time
}

// process is one worker's side.
type process struct {
	name     string
	free     int64
	until    time.Time
	total    int64
	spends   []quota.Spend
	told     int64 // spends that were told
	readings []quota.Reading
	flying   int64
	clock    quota.Clock   // the ledger's
	heard    time.Time     // when clock was that
	wall     time.Duration // by which its wall clock is wrong
}

type world struct {
	t         *rapid.T
	cfg       quota.Config
	server    server
	now       time.Time
	data      []byte
	processes []*process
	flights   []flight
	announces bool
	resets    bool
	denied    *quota.Denial
	sent      int
	jumps     bool // wall clocks of processes jump while they live
	// losesWords: the store's answer to an exchange may be lost, when what was told has been booked.
	losesWords bool
}

const term = 500 * time.Millisecond

func (w *world) exchange(p *process, need int64) *quota.Denial {
	var stored *messages.QuotaLedger
	if w.data != nil {
		var err error
		if stored, err = messages.DecodeQuotaLedger(w.data); err != nil {
			w.t.Fatal(err)
		}
	}
	l := quota.Open(w.cfg, stored)
	slow := w.wrong(p, l)
	back := func(t time.Time) time.Time { return t.Add(-slow) }
	report := quota.Report{Free: p.free, Flying: p.flying, Need: need, Batch: rapid.Int64Range(0, 8).Draw(w.t, "batch"), First: p.told + 1}
	if need == 0 {
		report.Free = 0
	}
	if w.jumps {
		report.Clock = p.clock.After(w.now.Sub(p.heard))
	}
	for _, s := range p.spends {
		report.Spends = append(report.Spends, quota.Spend{Sent: back(s.Sent), Answered: back(s.Answered), Units: s.Units, Served: true})
	}
	for _, r := range p.readings {
		r.At = back(r.At)
		if !r.Reset.IsZero() {
			r.Reset = back(r.Reset)
		}
		report.Readings = append(report.Readings, r)
	}
	g := l.Exchange(back(w.now), p.name, term, report)
	var err error
	if w.data, err = l.State().Encode(); err != nil {
		w.t.Fatal(err)
	}
	if n := len(l.State().Spent); n > messages.MaxQuotaSpends {
		w.t.Fatalf("%d spends", n)
	}
	if w.losesWords && rapid.IntRange(0, 3).Draw(w.t, "the answer is lost") == 0 {
		p.free = 0
		return &quota.Denial{}
	}
	p.told += int64(len(p.spends))
	p.spends, p.readings, p.free, p.total = nil, nil, g.Free, g.Total
	p.until, p.clock, p.heard = w.now.Add(term), g.Clock, w.now
	if g.Denied != nil {
		g.Denied.At = g.Denied.At.Add(slow) // by the world's clock
	}
	return g.Denied
}

// wrong is by how much the process's wall clock is behind.
func (w *world) wrong(p *process, l *quota.Ledger) time.Duration {
	if w.jumps {
		return -p.wall
	}
	slow := time.Duration(rapid.Int64Range(0, int64(3*w.cfg.Window)).Draw(w.t, "slow clock"))
	if !rapid.Bool().Draw(w.t, "clock set back") {
		slow = 0
	}
	if slow > 0 {
		l.Exchange(w.now, "another", term, quota.Report{}) // somebody's clock is right: a ledger knows no other time
	}
	return slow
}

func (w *world) send(i int) bool {
	p := w.processes[i]
	if p.free == 0 || !w.now.Before(p.until) {
		if !w.now.Before(p.until) {
			p.free = 0
		}
		if d := w.exchange(p, 1); d != nil {
			w.denied = d
			return false
		}
	}
	p.free--
	p.flying++
	var pending int64
	for _, s := range p.spends {
		pending += s.Units
	}
	f := flight{process: i, sent: w.now, total: p.total + pending + 1}
	w.flights = append(w.flights, f)
	w.sent++
	return true
}

// look lets the server look at a request; answer lets its answer come back.
func (w *world) look(i int) {
	f := &w.flights[i]
	if f.answered {
		return
	}
	ok, remaining, reset := w.server.serve(w.now)
	if !ok {
		w.t.Fatalf("the request sent at %s was refused at %s; ledger %s", f.sent, w.now, w.data)
	}
	f.answered, f.remaining, f.reset = true, remaining, reset
}

func (w *world) answer(i int) {
	w.look(i)
	f := w.flights[i]
	w.flights = append(w.flights[:i], w.flights[i+1:]...)
	p := w.processes[f.process]
	p.flying--
	p.spends = append(p.spends, quota.Spend{Sent: f.sent, Answered: w.now, Units: 1})
	if w.announces {
		r := quota.Reading{Limit: w.cfg.Limit, Remaining: f.remaining, At: w.now, Total: f.total}
		if w.resets {
			r.Reset = f.reset
		}
		p.readings = append(p.readings, r)
	}
}

func newWorld(t *rapid.T) *world {
	model := rapid.SampledFrom([]string{quota.Rolling, quota.Fixed, quota.Bucket}).Draw(t, "model")
	window := time.Duration(rapid.Int64Range(int64(100*time.Millisecond), int64(10*time.Second)).Draw(t, "window"))
	limit := rapid.Int64Range(1, 30).Draw(t, "limit")
	now := time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
	w := &world{
		t: t, now: now, announces: rapid.Bool().Draw(t, "announces"), resets: rapid.Bool().Draw(t, "resets"),
		cfg:    quota.Config{Pool: "p", Owner: "o", Counts: "requests", Model: model, Limit: limit, Window: window},
		server: server{model: model, limit: limit, window: window, tokens: float64(limit), filled: now, phase: now.Add(-window / 3)},
	}
	w.cfg.Observes = w.announces && rapid.Bool().Draw(t, "observes")
	for i := range rapid.IntRange(1, 3).Draw(t, "processes") {
		w.processes = append(w.processes, &process{name: fmt.Sprintf("w%d", i)})
	}
	return w
}

// renew keeps the reservations of processes with requests in flight, as a process does long before they end.
func (w *world) renew() {
	for _, p := range w.processes {
		if p.flying > 0 || len(p.spends) > 0 || len(p.readings) > 0 {
			w.exchange(p, 0)
		}
	}
}

func TestNoRequestIsRefusedWhenNobodyElseSpends(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.losesWords = rapid.Bool().Draw(t, "words are lost")
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1, 2:
				w.send(rapid.IntRange(0, len(w.processes)-1).Draw(t, "process"))
			case 3:
				if n := len(w.flights); n > 0 {
					w.answer(rapid.IntRange(0, n-1).Draw(t, "flight"))
				}
			case 4:
				if n := len(w.flights); n > 0 {
					w.look(rapid.IntRange(0, n-1).Draw(t, "flight"))
				}
			case 5:
				w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(term/2)).Draw(t, "time")))
				w.renew()
			case 6:
				for len(w.flights) > 0 {
					w.answer(0)
				}
				w.renew()
				w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(2*w.cfg.Window)).Draw(t, "long time")))
			}
		}
	})
}

// A pool is used to its end, and what is told of its end is true.
func TestTheWholeLimitIsUsedAndTheToldTimeIsRight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range int(w.cfg.Limit) {
			w.processes[0].until = time.Time{}
			if !w.send(0) {
				t.Fatalf("after %d of %d requests one is denied: %+v; %s", w.sent, w.cfg.Limit, w.denied, w.data)
			}
			w.answer(0)
		}
		w.renew()
		if w.send(0) {
			t.Fatal("one more than the limit is allowed")
		}
		denied := w.denied
		if denied.Soon || !denied.At.After(w.now) {
			t.Fatalf("with nothing in flight it is denied as %+v", denied)
		}
		slack := w.cfg.Window/128 + time.Millisecond
		if most := w.now.Add(w.cfg.Window + slack); denied.At.After(most) {
			t.Fatalf("told %s, which is %s after the whole window", denied.At, denied.At.Sub(most))
		}
		w.now = denied.At.Add(3 * w.cfg.Window) // whatever clocks were set back to, this is later
		if !w.send(0) {
			t.Fatalf("at the told time it is denied: %+v; %s", w.denied, w.data)
		}
	})
}
