package main

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
)

func TestACompleteTableWithoutRowsIsExplainedAndNoError(t *testing.T) {
	const asked = "https://api.example.org/daily?site=USGS-1%2CUSGS-2&time=2024-01-01%2F2024-02-01"
	for name, test := range map[string]struct {
		state   messages.QueryState
		stored  int64 // rows in the results
		written int64 // rows in the table
		fail    bool  // --fail-on-empty
		says    string
		code    int
	}{
		"nothing there": {messages.Complete, 0, 0, false, "empty    the service answered that there is nothing for site=USGS-1,USGS-2, time=2024-01-01/2024-02-01: check the values, the time, the parameter codes\n", exitOK},
		"asked for":     {messages.Complete, 0, 0, true, "the service answered", exitEmpty},
		"rows":          {messages.Complete, 2, 2, true, "", exitOK},
		"none is left":  {messages.Complete, 2, 0, true, "empty    of the 2 rows that the service gave, none is left in the table\n", exitEmpty},
		"partial":       {messages.Interrupted, 0, 0, true, "", exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			a, stderr := desk()
			a.failOnEmpty = test.fail
			s := &messages.Status{
				Query:    &messages.Query{ID: "q", State: test.state, Chunks: 1, URL: asked},
				Progress: &messages.Progress{Rows: test.stored},
			}
			err := a.described(s, []written{{Path: "x.csv", Report: &frame.Report{Rows: test.written}}}, nil)
			if got := exitCode(t.Context(), err); got != test.code {
				t.Errorf("exit code %d, want %d", got, test.code)
			}
			if said := stderr.String(); !strings.Contains(said, test.says) || test.says == "" && said != "" {
				t.Errorf("it says %q, want %q", said, test.says)
			}
			if strings.Contains(stderr.String(), "error") {
				t.Errorf("an answer sounds like an error: %s", stderr)
			}
			if own := new(exitError); err != nil && (!errors.As(err, &own) || !own.said) {
				t.Errorf("%v would be said once more", err)
			}
		})
	}
}

func TestWhatWasAskedFitsIntoALine(t *testing.T) {
	for address, want := range map[string]string{
		"https://x.example/a":               "what was asked",
		"https://x.example/a?":              "what was asked",
		"https://x.example/a?b=%zz&c=1#end": "b=%zz, c=1",
		"https://x.example/a?b=%1b%5B2J":    "b=" + messages.Text("\x1b[2J"),
	} {
		if got := whatWasAsked(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	long := whatWasAsked("https://x.example/a?" + strings.Repeat("site="+strings.Repeat("é", 1000)+"&", 100))
	if n := utf8.RuneCountInString(long); n > askedAll+10 || !strings.HasSuffix(long, "…") {
		t.Errorf("%d characters: %s", n, long)
	}
}
