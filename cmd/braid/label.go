package main

import (
	"fmt"
	"strings"
)

func colorModes() []string { return []string{"auto", "always", "never"} }

// colors tells whether what is written to stderr may have colour. NO_COLOR, set to anything, is heeded unless colour is asked for.
func (a *app) colors() bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.getenv("NO_COLOR") == "" && a.isTerminal()
}

// The colours of labels: what went wrong, what is to be heeded, and what went well. All others have none.
const (
	red    = "31"
	yellow = "33"
	green  = "32"
)

func colorOf(label string) string {
	switch label {
	case "error", "fail", "BROKEN":
		return red
	case "warning", "warn", "paused", "budget", "bad", "partial", "doubted", "detached", "stopped":
		return yellow
	case "complete", "ok":
		return green
	}
	return ""
}

// labelled is a line for a person: a word that says what it tells, and the text.
func (a *app) labelled(label, text string) string {
	padded := fmt.Sprintf("%-8s", label)
	if code := colorOf(label); code != "" && a.colors() {
		padded = "\x1b[1;" + code + "m" + label + "\x1b[0m" + strings.Repeat(" ", max(0, 8-len(label)))
	}
	return padded + " " + text
}

// line tells a person something on stderr; where stderr is for events, as an event.
func (a *app) line(label, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.progress == "json" {
		fmt.Fprintln(a.stderr, jsonText(noteEvent{"note", label, text}))
		return
	}
	fmt.Fprintln(a.stderr, a.labelled(label, text))
}

// stopping is what is said after the first Ctrl-C.
func (a *app) stopping() string {
	const text = "requests in flight may finish; Ctrl-C again stops at once"
	if a.progress == "json" {
		return jsonText(noteEvent{"note", "stopping", text})
	}
	before := ""
	if a.isTerminal() {
		before = "\n" // behind its ^C
	}
	return before + a.labelled("stopping", text)
}
