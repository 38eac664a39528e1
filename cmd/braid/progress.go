package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/braidhq/braid/pkg/messages"
)

func progressModes() []string { return []string{"auto", "tty", "plain", "json", "quiet"} }

const plainEvery = 5 * time.Second

// progress shows how far a query is, on stderr.
type progress interface {
	show(*messages.Status)
	note(text string) // something besides the numbers
	done()
}

func (a *app) newProgress() progress {
	mode := a.progress
	if mode == "auto" {
		mode = "plain"
		if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) { //nolint:gosec // a file descriptor
			mode = "tty"
		}
	}
	switch mode {
	case "tty":
		return &barProgress{out: a.stderr, started: time.Now()}
	case "json":
		return &lineProgress{out: a.stderr, line: jsonLine, noted: jsonNote, every: time.Second}
	case "quiet":
		return quiet{}
	}
	return &lineProgress{out: a.stderr, line: plainLine, noted: noteLine, every: plainEvery}
}

type quiet struct{}

func (quiet) show(*messages.Status) {}
func (quiet) note(string)           {}
func (quiet) done()                 {}

// lineProgress prints a line now and then, and when the state changes.
type lineProgress struct {
	out   io.Writer
	line  func(*messages.Status, time.Time) string
	noted func(string) string
	every time.Duration
	next  time.Time
	state messages.QueryState
}

func (p *lineProgress) show(s *messages.Status) {
	now := time.Now()
	if now.Before(p.next) && s.Query.State == p.state {
		return
	}
	p.next, p.state = now.Add(p.every), s.Query.State
	fmt.Fprintln(p.out, p.line(s, now))
}

func (p *lineProgress) note(text string) { fmt.Fprintln(p.out, p.noted(text)) }

func (p *lineProgress) done() {}

func noteLine(text string) string { return "note     " + strings.ReplaceAll(text, "\n", "; ") }

func jsonNote(text string) string {
	data, err := json.Marshal(map[string]any{"message_type": "note", "text": text})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func plainLine(s *messages.Status, now time.Time) string {
	line := fmt.Sprintf("%s query=%s state=%s chunks=%d/%d requests=%d rows=%d",
		now.UTC().Format(time.RFC3339), s.Query.ID, s.Query.State, s.Progress.Completed, s.Query.Chunks, s.Progress.Requests, s.Progress.Rows)
	if quotas := s.Progress.Quotas; len(quotas) > 0 {
		line += fmt.Sprintf(" quota=%d/%d", quotas[0].Left, quotas[0].Limit)
	}
	if s.Query.State.Active() && s.Progress.Alone() {
		line += fmt.Sprintf(" workers=0 reason=%q", nobodyText(s.Query.Service, s.Progress.Workers, now))
	}
	if s.Query.ResumesByItself() {
		line += " until=" + s.Query.ResumeAt().UTC().Format(time.RFC3339)
	}
	return line
}

func jsonLine(s *messages.Status, _ time.Time) string {
	event := map[string]any{
		"message_type": "progress", "query": s.Query.ID, "state": s.Query.State,
		"chunks":   map[string]int{"done": s.Progress.Completed, "failed": s.Progress.Failed, "total": s.Query.Chunks},
		"requests": s.Progress.Requests, "rows": s.Progress.Rows,
	}
	if len(s.Progress.Quotas) > 0 {
		event["quota"] = s.Progress.Quotas[0]
	}
	if s.Query.State.Active() && s.Progress.Workers != nil {
		event["workers"] = s.Progress.Workers
	}
	if s.Progress.AtLeast {
		event["requests_at_least"] = true
	}
	if s.Query.ResumesByItself() {
		event["until"] = s.Query.ResumeAt().UTC().Format(time.RFC3339)
	}
	data, err := json.Marshal(event)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// barProgress is one line on a terminal.
type barProgress struct {
	out     io.Writer
	started time.Time
	pool    *mpb.Progress
	bar     *mpb.Bar
	text    chan string // the newest words behind the bar
}

func (p *barProgress) show(s *messages.Status) {
	if p.pool == nil {
		p.open(s)
	}
	select {
	case <-p.text:
	default:
	}
	p.text <- p.words(s)
	p.bar.SetCurrent(int64(s.Progress.Completed))
}

// note writes a line above the bar.
func (p *barProgress) note(text string) {
	out := p.out
	if p.pool != nil {
		out = p.pool
	}
	fmt.Fprintln(out, noteLine(text))
}

func (p *barProgress) open(s *messages.Status) {
	p.pool = mpb.New(mpb.WithOutput(p.out), mpb.WithWidth(24), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	p.text = make(chan string, 1)
	words := ""
	p.bar = p.pool.AddBar(int64(s.Query.Chunks),
		mpb.PrependDecorators(decor.Name(s.Query.Collection+" ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			select {
			case words = <-p.text:
			default:
			}
			return words
		})))
}

func (p *barProgress) words(s *messages.Status) string {
	words := fmt.Sprintf(" %s/%s  %s  %s  %s%s", thousands(int64(s.Progress.Completed)), count(int64(s.Query.Chunks), "chunk"),
		requestsText(s.Progress), count(s.Progress.Rows, "row"), quotaWords(s.Progress), time.Since(p.started).Round(time.Second))
	if s.Query.ResumesByItself() {
		what := "the service"
		if stoppedForQuota(s.Query) {
			what = "quota"
		}
		return words + "  waits for " + what + " until " + s.Query.ResumeAt().Local().Format(time.TimeOnly)
	}
	if s.Query.State.Active() && s.Progress.Alone() {
		return words + "  " + nobodyText(s.Query.Service, s.Progress.Workers, time.Now())
	}
	return words
}

// quotaWords is what is left of the first pool of the service, where it is known.
func quotaWords(p *messages.Progress) string {
	if len(p.Quotas) == 0 {
		return ""
	}
	return fmt.Sprintf("quota %s/%s  ", thousands(p.Quotas[0].Left), thousands(p.Quotas[0].Limit))
}

func (p *barProgress) done() {
	if p.pool == nil {
		return
	}
	p.bar.Abort(false)
	p.pool.Wait()
}
