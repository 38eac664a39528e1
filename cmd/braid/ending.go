package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
)

// written is one file that the table went to.
type written struct {
	Path   string        `json:"path"`
	Bytes  int64         `json:"bytes"`
	Report *frame.Report `json:"report"`
}

// summary is what --json prints of a query that has settled.
type summary struct {
	MessageType string             `json:"message_type"`
	Query       *messages.Query    `json:"query"`
	Progress    *messages.Progress `json:"progress"`
	Outputs     []written          `json:"outputs,omitempty"`
	Continue    string             `json:"continue,omitempty"`
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (a *app) line(label, format string, args ...any) {
	fmt.Fprintf(a.stderr, "%-8s %s\n", label, fmt.Sprintf(format, args...))
}

// resumeHint is the exact command that goes on with a query.
func (a *app) resumeHint(q *messages.Query, wait bool) string {
	command := "braid resume " + q.ID + a.whereHint()
	if wait {
		command += " --wait"
	}
	return command
}

// exportHint is the command that writes a complete query's table.
func (a *app) exportHint(id string) string { return "braid results " + id + " -o FILE" + a.whereHint() }

// whereHint are the flags with which another command finds the same queries.
func (a *app) whereHint() string {
	if a.server != "" {
		return " --server " + a.server
	}
	if home, err := userDir(a.getenv, "XDG_DATA_HOME", ".local/share"); err != nil || home != a.dataDir {
		return " --data-dir " + quoteArg(a.dataDir)
	}
	return ""
}

// notComplete tells how a query that did not complete stands, and gives the exit code as an error.
func (a *app) notComplete(s *messages.Status) error {
	q, p := s.Query, s.Progress
	hint := a.resumeHint(q, false)
	code, reason := exitIncomplete, ""
	if q.Stop != nil {
		reason = q.Stop.Reason
	}
	switch {
	case q.State == messages.Cancelled:
		a.line("stopped", "%s", reason)
		hint = ""
	case q.State == messages.Failed:
		a.line("error", "chunk %s failed: %s", q.Stop.Position, failureText(q.Stop))
		if q.Stop.Class == "auth" {
			code = exitCredentials
		}
	case q.Stop != nil && (q.Stop.Kind == messages.StopDrained):
		a.line("stopped", "%s", reason)
		code = exitInterrupted
	case q.Stop != nil && q.Stop.Kind == string(messages.QuotaExhausted):
		a.line("paused", "the quota of %s is used up: %s", q.Service, reason)
		code, hint = exitPaused, a.resumeHint(q, true)
	case q.Stop != nil && q.Stop.Kind == messages.StopDamaged:
		a.line("error", "%s", reason)
	default:
		a.line("paused", "%s was interrupted: %s", q.Service, reason)
		code = exitPaused
	}
	a.line("kept", "%s of %s chunks; none of them will be asked for again", thousands(int64(p.Completed)), thousands(int64(q.Chunks)))
	if at := q.ResumeAt(); !at.IsZero() && code == exitPaused {
		a.line("next", "%s (%s)", at.Local().Format(time.DateTime), in(time.Until(at)))
	}
	if q.State == messages.Failed && q.Stop.Hint != "" {
		a.line("do", "%s; then: %s", q.Stop.Hint, hint)
	} else if hint != "" {
		a.line("continue", "%s", hint)
	}
	if a.json {
		if err := a.printJSON(summary{MessageType: "summary", Query: q, Progress: p, Continue: hint}); err != nil {
			return err
		}
	}
	return &exitError{code: code, err: errors.New(string(q.State)), said: true}
}

func failureText(stop *messages.Stop) string {
	text := stop.Reason
	if stop.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", stop.Status)
	}
	return text
}

func in(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + span(d)
}

// complete tells what the finished table is.
func (a *app) complete(s *messages.Status, outputs []written, took time.Duration) error {
	rows := s.Progress.Rows
	for _, o := range outputs {
		rows = o.Report.Rows
	}
	a.line("complete", "%s rows  ·  %s requests  ·  %s", thousands(rows), thousands(s.Progress.Requests), span(took))
	bad := false
	for _, o := range outputs {
		if o.Path != "-" {
			a.line("table", "%s (%s)", o.Path, fileSize(o.Bytes))
		}
	}
	if len(outputs) > 0 {
		bad = a.describe(outputs[0].Report)
	} else {
		a.line("export", "%s", a.exportHint(s.Query.ID))
	}
	if a.json {
		if err := a.printJSON(summary{MessageType: "summary", Query: s.Query, Progress: s.Progress, Outputs: outputs}); err != nil {
			return err
		}
	}
	if bad && !s.Query.AllowBad {
		return &exitError{code: exitIncomplete, err: errors.New("bad values"), said: true}
	}
	return nil
}

// describe tells what was dropped or could not be read, and whether there were bad values.
func (a *app) describe(r *frame.Report) (bad bool) {
	if r.Duplicates > 0 {
		a.line("merged", "%s rows that were sent twice", thousands(r.Duplicates))
	}
	if len(r.Unknown) > 0 {
		a.line("unknown", "fields that the service definition does not declare, kept as text: %v", r.Unknown)
	}
	for _, b := range r.Bad {
		bad = true
		a.line("bad", "%s values of %s are no %s and are null in the table, such as %q", thousands(b.Count), b.Name, b.Type, b.Originals[0])
	}
	if bad {
		a.line("", "a query may allow this: verify: {bad_values: allow}")
	}
	return bad
}
