package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/messages"
)

func TestAListFitsATerminal(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 15, 0, 0, time.Local)
	row := func(name, service string, chunks int, rows int64, created time.Time) *messages.Status {
		return &messages.Status{
			Query:    &messages.Query{ID: "abcd2345", Name: name, Service: service, State: messages.Interrupted, Chunks: chunks, Created: created},
			Progress: &messages.Progress{Completed: chunks / 2, Rows: rows},
		}
	}
	var out strings.Builder
	err := printList(&table{to: &out, width: listWidth}, []*messages.Status{
		row("daily-flow", "usgs-waterdata", 30, 21960, now.Add(-time.Hour)),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	err = printList(&table{to: &out, width: listWidth}, []*messages.Status{
		row(strings.Repeat("é", 48), "usgs-waterdata", 1000, 14611204, now.AddDate(-1, 0, 0)),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > listWidth {
			t.Errorf("%d characters, at most %d: %s", n, listWidth, line)
		}
	}
	for _, want := range []string{"daily-flow  usgs-waterdata", "CREATED " + now.Format("-07"), "15/30", "21,960", "Nov 29 23:15", "Nov 30  2025", "…"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
