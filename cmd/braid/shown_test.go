package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

func TestAStatusSaysThatSomebodyWaitsAndResumes(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
	waiting := func(kind messages.InterruptionKind, until time.Time, upTo time.Duration) *messages.Query {
		return &messages.Query{
			ID: "abcd2345", State: messages.Interrupted, Chunks: 3, WaitUpTo: upTo,
			Stop: &messages.Stop{Kind: string(kind), Reason: "over", Until: until, At: noon},
		}
	}
	later := noon.Add(125 * time.Minute)
	for want, test := range map[string]struct {
		query  *messages.Query
		server string
	}{
		"paused by quota until 14:05; a process on this machine waits and resumes by itself": {waiting(messages.QuotaExhausted, later, forever), ""},
		"paused by quota until 14:05; the server waits and resumes by itself":                {waiting(messages.QuotaExhausted, later, forever), "http://x.example"},
		"paused by the service until 2026-12-01 12:00; a process on this machine waits and resumes by itself": {
			waiting(messages.ServiceInterrupted, noon.AddDate(0, 0, 1), forever), "",
		},
		"interrupted": {waiting(messages.QuotaExhausted, later, 0), ""},
		"running":     {&messages.Query{State: messages.Running, WaitUpTo: forever}, ""},
	} {
		a, _ := desk()
		a.server = test.server
		if got := a.stateText(test.query, noon); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		waits := strings.Contains(want, "by itself")
		if steps := a.nextSteps(test.query); waits && len(steps) > 0 {
			t.Errorf("%q, and yet it says what to do: %v", want, steps)
		}
		if at := a.shown(&messages.Status{Query: test.query, Progress: &messages.Progress{}}).ResumesAt; at.IsZero() == waits {
			t.Errorf("%q resumes at %v", want, at)
		}
	}
}

func TestAListSaysWhichQueriesHaveAllRowsThatTheyAskFor(t *testing.T) {
	row := func(state messages.QueryState, completed int, maxRows int64) *messages.Status {
		return &messages.Status{
			Query:    &messages.Query{ID: "abcd2345", Name: strings.Repeat("n", 40), Service: "usgs-waterdata", State: state, Chunks: 4000, MaxRows: maxRows},
			Progress: &messages.Progress{Completed: completed, Rows: 14_611_204},
		}
	}
	for want, test := range map[string]*messages.Status{
		"3/4000 · limit ": row(messages.Complete, 3, 100),
		"4000/4000 ":      row(messages.Complete, 4000, 100),
		"4/4000 ":         row(messages.Interrupted, 4, 100),
	} {
		var out strings.Builder
		if err := printList(&table{to: &out, width: listWidth}, []*messages.Status{test}, time.Now()); err != nil {
			t.Fatal(err)
		}
		limited := strings.Contains(want, "limit")
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "limit") != limited {
			t.Errorf("%q is not in\n%s", want, &out)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSpace(line))); n > listWidth {
				t.Errorf("%d characters: %s", n, line)
			}
		}
		a, _ := desk()
		stdout := new(bytes.Buffer)
		a.stdout = stdout
		if err := a.printJSON(a.shown(test)); err != nil {
			t.Fatal(err)
		}
		var have struct {
			Query        struct{ ID string }
			LimitReached bool `json:"limit_reached"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &have); err != nil || have.Query.ID != "abcd2345" || have.LimitReached != limited {
			t.Errorf("%s: %v", stdout, err)
		}
	}
}

func TestRequestsThatMayBeMoreAreSaidSo(t *testing.T) {
	for want, p := range map[string]*messages.Progress{
		"12 requests":          {Requests: 12},
		"at least 1 request":   {Requests: 1, AtLeast: true},
		"at least 12 requests": {Requests: 12, AtLeast: true},
	} {
		if got := requestsText(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
