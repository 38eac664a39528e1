package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/braidhq/braid/pkg/messages"
)

func progressModes() []string { return []string{"auto", "tty", "plain", "json", "quiet"} }

const plainEvery = 30 * time.Second

// progress shows how far a query is, on stderr.
type progress interface {
	show(*messages.Status)
	note(text string) // something besides the numbers
	tell(line string) // likewise, a line as it stands
	done()
}

// isTerminal tells whether a person watches stderr on a terminal that can write over a line.
func (a *app) isTerminal() bool {
	return isTerminal(a.stderr) && a.getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor
}

func (a *app) newProgress() progress {
	mode := a.progress
	if mode == "auto" {
		mode = "plain"
		if a.isTerminal() {
			mode = "tty"
		}
	}
	switch mode {
	case "tty":
		return &barProgress{out: a.stderr, started: time.Now(), noted: func(text string) string { return a.labelled("note", oneLine(text)) }}
	case "json":
		return &lineProgress{out: a.stderr, line: jsonLine, noted: jsonNote, every: time.Second}
	case "quiet":
		return quiet{}
	}
	return &lineProgress{out: a.stderr, line: plainLine, noted: func(text string) string { return a.labelled("note", oneLine(text)) }, every: plainEvery}
}

type quiet struct{}

func (quiet) show(*messages.Status) {}
func (quiet) note(string)           {}
func (quiet) tell(string)           {}
func (quiet) done()                 {}

// lineProgress prints a line now and then, and when the state changes.
type lineProgress struct {
	out   io.Writer
	line  func(*messages.Status, *pace, time.Time) string
	noted func(string) string
	every time.Duration
	next  time.Time
	state messages.QueryState
	alone bool
	pace  pace
}

func (p *lineProgress) show(s *messages.Status) {
	now := time.Now()
	p.pace.take(s, now)
	alone := s.Progress.Alone()
	if now.Before(p.next) && s.Query.State == p.state && alone == p.alone {
		return
	}
	p.next, p.state, p.alone = now.Add(p.every), s.Query.State, alone
	fmt.Fprintln(p.out, p.line(s, &p.pace, now))
}

func (p *lineProgress) note(text string) { fmt.Fprintln(p.out, p.noted(text)) }

func (p *lineProgress) tell(line string) { fmt.Fprintln(p.out, line) }

func (p *lineProgress) done() {}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

func plainLine(s *messages.Status, pace *pace, now time.Time) string {
	requests := fmt.Sprint(s.Progress.Requests)
	if expected := requestsExpected(s); expected > 0 {
		requests += fmt.Sprintf("/%d", expected)
	}
	line := fmt.Sprintf("%s query=%s state=%s chunks=%d/%d requests=%s rows=%d",
		now.UTC().Format(time.RFC3339), s.Query.ID, s.Query.State, s.Progress.Completed, s.Query.Chunks, requests, s.Progress.Rows)
	if s.Progress.Failed > 0 {
		line += fmt.Sprintf(" failed=%d", s.Progress.Failed)
	}
	if quotas := s.Progress.Quotas; len(quotas) > 0 {
		line += fmt.Sprintf(" quota=%d/%d", quotas[0].Left, quotas[0].Limit)
	}
	if s.Query.State.Active() && s.Progress.Alone() {
		line += fmt.Sprintf(" workers=0 reason=%q", nobodyText(s.Query.Service, s.Progress.Workers, now))
	}
	if s.Query.ResumesByItself() {
		line += " until=" + s.Query.ResumeAt().UTC().Format(time.RFC3339)
	}
	if left, known := pace.left(s, now); known {
		line += fmt.Sprintf(" eta=%ds", ceilSeconds(left))
	}
	return line
}

func ceilSeconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

// progressEvent is how a query stands, as --progress json tells it. Fields may be added; none changes its meaning.
type progressEvent struct {
	MessageType string               `json:"message_type"` // progress
	Time        time.Time            `json:"time"`
	Query       string               `json:"query"`
	State       messages.QueryState  `json:"state"`
	Chunks      chunkCounts          `json:"chunks"`
	Requests    requestCounts        `json:"requests"`
	Rows        int64                `json:"rows"`
	Quota       *messages.PoolLeft   `json:"quota,omitempty"`   // of the service's first pool
	Workers     *messages.Attendance `json:"workers,omitempty"` // that take items of the service
	Until       *time.Time           `json:"until,omitempty"`   // the query waits until then, and goes on by itself
	ETA         *int64               `json:"eta_s,omitempty"`   // seconds to the end; absent: not known
}

type chunkCounts struct {
	Done   int `json:"done"`
	Failed int `json:"failed"`
	Total  int `json:"total"`
}

type requestCounts struct {
	Done     int64 `json:"done"`
	Expected int64 `json:"expected,omitempty"` // at the end, done ones included; absent: not known
	AtLeast  bool  `json:"at_least,omitempty"` // there may have been more, of processes that were killed
}

func jsonLine(s *messages.Status, pace *pace, now time.Time) string {
	event := progressEvent{
		MessageType: "progress", Time: now.UTC().Truncate(time.Millisecond), Query: s.Query.ID, State: s.Query.State, Rows: s.Progress.Rows,
		Chunks:   chunkCounts{s.Progress.Completed, s.Progress.Failed, s.Query.Chunks},
		Requests: requestCounts{s.Progress.Requests, requestsExpected(s), s.Progress.AtLeast},
	}
	if len(s.Progress.Quotas) > 0 {
		event.Quota = &s.Progress.Quotas[0]
	}
	if s.Query.State.Active() {
		event.Workers = s.Progress.Workers
	}
	if s.Query.ResumesByItself() {
		event.Until = new(s.Query.ResumeAt().UTC())
	}
	if left, known := pace.left(s, now); known {
		event.ETA = new(ceilSeconds(left))
	}
	return jsonText(event)
}

func jsonNote(text string) string { return jsonText(noteEvent{"note", "note", text}) }

// noteEvent is something that a person is told besides the numbers.
type noteEvent struct {
	MessageType string `json:"message_type"` // note
	Label       string `json:"label"`        // the word that stands before the text elsewhere
	Text        string `json:"text"`
}

func jsonText(event any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // URLs stay as they are
	if err := enc.Encode(event); err != nil {
		return `{"message_type":"note","label":"note","text":"an event cannot be written"}`
	}
	return strings.TrimRight(text.String(), "\n")
}

// barProgress is one line on a terminal.
type barProgress struct {
	out     io.Writer
	started time.Time
	noted   func(string) string
	pool    *mpb.Progress
	bar     *mpb.Bar
	text    chan []segment // the newest words
	pace    pace
}

// segment is a part of the line. Where the line is too long, those of the highest rank are left out first.
type segment struct {
	text string
	rank int
}

func (p *barProgress) show(s *messages.Status) {
	now := time.Now()
	p.pace.take(s, now)
	if p.pool == nil {
		p.open(s)
	}
	select {
	case <-p.text:
	default:
	}
	p.text <- p.words(s, now)
	p.bar.SetCurrent(int64(s.Progress.Completed))
}

func (p *barProgress) note(text string) { p.tell(p.noted(text)) }

// tell writes a line above the bar, which would write over it otherwise.
func (p *barProgress) tell(line string) {
	out := p.out
	if p.pool != nil {
		out = p.pool
	}
	fmt.Fprintln(out, line)
}

func (p *barProgress) open(s *messages.Status) {
	p.pool = mpb.New(mpb.WithOutput(p.out), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	p.text = make(chan []segment, 1)
	var words []segment
	p.bar = p.pool.New(int64(s.Query.Chunks), mpb.NopStyle(), mpb.PrependDecorators(decor.Any(func(st decor.Statistics) string {
		select {
		case words = <-p.text:
		default:
		}
		return fitted(words, st.AvailableWidth)
	})))
}

const (
	gap       = "  "
	clearLine = "\r\x1b[K" // of a terminal: to the left, and all to the right of it
)

// fitted joins what a line of this width takes. A width of 0 is that of a terminal that does not tell.
func fitted(words []segment, width int) string {
	if width <= 0 {
		width = listWidth
	}
	line := func(most int) string {
		var parts []string
		for _, w := range words {
			if w.text != "" && w.rank <= most {
				parts = append(parts, w.text)
			}
		}
		return strings.Join(parts, gap)
	}
	for most := highest(words); most > 0; most-- {
		if text := line(most); utf8.RuneCountInString(text) < width {
			return text
		}
	}
	return shortened(line(0), max(width-1, 1))
}

func highest(words []segment) int {
	most := 0
	for _, w := range words {
		most = max(most, w.rank)
	}
	return most
}

// words is the line: what, how far, what it has cost, and how long it will take.
func (p *barProgress) words(s *messages.Status, now time.Time) []segment {
	done := thousands(s.Progress.Requests)
	if expected := requestsExpected(s); expected > 0 {
		done += "/" + thousands(expected)
	}
	words := []segment{
		{s.Query.Collection, 3},
		{fmt.Sprintf("%s/%s", thousands(int64(s.Progress.Completed)), count(int64(s.Query.Chunks), "chunk")), 0},
		{atLeast(s.Progress) + done + " " + plural(max(s.Progress.Requests, requestsExpected(s)), "request"), 2},
		{shortCount(s.Progress.Rows) + " " + plural(s.Progress.Rows, "row"), 4},
	}
	if s.Progress.Failed > 0 {
		words = append(words, segment{thousands(int64(s.Progress.Failed)) + " failed", 1})
	}
	if len(s.Progress.Quotas) > 0 {
		q := s.Progress.Quotas[0]
		words = append(words, segment{fmt.Sprintf("quota %s/%s", thousands(q.Left), thousands(q.Limit)), 3})
	}
	took := now.Sub(p.started).Round(time.Second).String()
	switch {
	case s.Query.ResumesByItself():
		what := "the service"
		if stoppedForQuota(s.Query) {
			what = "quota"
		}
		words = append(words, segment{"waits for " + what + " until " + s.Query.ResumeAt().Local().Format(time.TimeOnly), 1})
	case s.Query.State.Active() && s.Progress.Alone():
		words = append(words, segment{nobodyText(s.Query.Service, s.Progress.Workers, now), 1})
	default:
		if left, known := p.pace.left(s, now); known {
			took += ", about " + etaText(left) + " left"
		}
		words = append(words, segment{took, 1})
	}
	return words
}

// shortCount writes a large number with three digits: 9.1 M.
func shortCount(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e9, "G"}, {1e6, "M"}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return thousands(n)
}

func (p *barProgress) done() {
	if p.pool == nil {
		return
	}
	p.bar.Abort(false)
	p.pool.Wait()
	fmt.Fprint(p.out, clearLine) // a terminal echoes Ctrl-C as ^C below the bar
}
