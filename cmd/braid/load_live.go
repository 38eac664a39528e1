package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/timing"
)

// loadProgress shows how a load run goes, on stderr.
type loadProgress interface {
	show(*load.RunStatus)
	tell(line string)
	done()
}

const loadPlainEvery = 10 * time.Second

func (a *app) newLoadProgress() loadProgress {
	mode := a.progress
	if mode == "auto" {
		mode = "plain"
		if a.isTerminal() {
			mode = "tty"
		}
	}
	switch mode {
	case "tty":
		return &loadLine{out: a.stderr}
	case "json":
		return &loadLines{out: a.stderr, line: loadEventLine, every: time.Second}
	case "quiet":
		return quietLoad{}
	}
	return &loadLines{out: a.stderr, line: loadPlainLine, every: loadPlainEvery}
}

type quietLoad struct{}

func (quietLoad) show(*load.RunStatus) {}
func (quietLoad) tell(string)          {}
func (quietLoad) done()                {}

// loadLines prints a line now and then, and when the state changes.
type loadLines struct {
	out   io.Writer
	line  func(*load.RunStatus, time.Time) string
	every time.Duration
	next  time.Time
	state load.State
}

func (l *loadLines) show(s *load.RunStatus) {
	now := time.Now()
	if now.Before(l.next) && s.Run.State == l.state {
		return
	}
	l.next, l.state = now.Add(l.every), s.Run.State
	fmt.Fprintln(l.out, l.line(s, now))
}

func (l *loadLines) tell(line string) { fmt.Fprintln(l.out, line) }
func (l *loadLines) done()            {}

// loadLine is one line on a terminal, written over as often as the run is told of.
type loadLine struct {
	out   io.Writer
	shown bool
}

func (l *loadLine) show(s *load.RunStatus) {
	width := 0
	if f, ok := l.out.(*os.File); ok {
		width, _, _ = term.GetSize(int(f.Fd())) //nolint:gosec // a file descriptor
	}
	fmt.Fprint(l.out, clearLine+fitted(loadWords(s), width))
	l.shown = true
}

func (l *loadLine) tell(line string) {
	l.done()
	fmt.Fprintln(l.out, line)
}

func (l *loadLine) done() {
	if l.shown {
		fmt.Fprint(l.out, clearLine)
		l.shown = false
	}
}

// loadWords is the line: how far, what is under way, how long answers take, what goes wrong.
func loadWords(s *load.RunStatus) []segment {
	words := []segment{{string(s.Run.State), 2}}
	p := s.Progress
	if p == nil {
		return append(words, segment{"0/" + count(int64(s.Run.Total), "request"), 0})
	}
	words = append(words, segment{fmt.Sprintf("%s/%s", thousands(int64(p.Recorded)), count(int64(p.Total), "request")), 0},
		segment{fmt.Sprintf("%d in flight", p.InFlight), 3})
	if u := p.Recent.Upstream; u.Samples > 0 {
		words = append(words, segment{fmt.Sprintf("p50 %s p95 %s of the last %d, %s", roundText(u.P50), roundText(u.P95), u.Samples, mixWord(p.CacheStates)), 1})
	}
	if failures := p.Errors + p.Timeouts; failures > 0 {
		words = append(words, segment{count(int64(failures), "failure"), 1})
	}
	return append(words, segment{"breaker " + p.Breaker.State, 4})
}

// mixText says which cache states numbers are over: hits and misses have no common median.
func mixText(states map[string]int) string {
	var names []string
	for state, n := range states {
		if n > 0 {
			names = append(names, state)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(states[b]-states[a], strings.Compare(a, b)) })
	switch len(names) {
	case 0:
		return "no cache state"
	case 1:
		return "all " + names[0]
	}
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %d", name, states[name])
	}
	return "mixed: " + strings.Join(parts, ", ")
}

// mixWord is mixText in a word.
func mixWord(states map[string]int) string {
	if text := mixText(states); !strings.HasPrefix(text, "mixed") {
		return text
	}
	return "mixed"
}

// roundText is a time as a line has room for it.
func roundText(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return d.Round(time.Millisecond).String()
}

func msText(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return timing.Milliseconds(*d).String()
}

func upstreamText(p *load.Progress) string {
	u := p.Waits.Upstream
	return fmt.Sprintf("p50 %s  p95 %s  p99 %s ms of %s (%s)", msText(u.P50), msText(u.P95), msText(u.P99), count(int64(u.Samples), "sample"), mixText(p.CacheStates))
}

func loadPlainLine(s *load.RunStatus, now time.Time) string {
	line := fmt.Sprintf("%s load=%s state=%s", now.UTC().Format(time.RFC3339), s.Run.ID, s.Run.State)
	p := s.Progress
	if p == nil {
		return line + fmt.Sprintf(" done=0/%d", s.Run.Total)
	}
	line += fmt.Sprintf(" done=%d/%d sent=%d in_flight=%d", p.Recorded, p.Total, p.RequestsSent, p.InFlight)
	if u := p.Recent.Upstream; u.Samples > 0 {
		line += fmt.Sprintf(" p50_ms=%s p95_ms=%s n=%d", msText(u.P50), msText(u.P95), u.Samples)
	}
	return line + fmt.Sprintf(" errors=%d timeouts=%d breaker=%s", p.Errors, p.Timeouts, p.Breaker.State)
}

// loadEvent is how a load run goes, as --progress json tells it. Fields may be added; none changes its meaning.
type loadEvent struct {
	MessageType string         `json:"message_type"` // load_progress
	Time        time.Time      `json:"time"`
	Run         string         `json:"run"`
	State       load.State     `json:"state"`
	Ending      load.Ending    `json:"ending,omitempty"`
	Progress    *load.Progress `json:"progress,omitempty"` // as GET /v1/load/runs/{id} tells it
}

func loadEventLine(s *load.RunStatus, now time.Time) string {
	return jsonText(loadEvent{"load_progress", now.UTC().Truncate(time.Millisecond), s.Run.ID, s.Run.State, s.Run.Ending, s.Progress})
}
