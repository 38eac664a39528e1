package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func desk() (*app, *bytes.Buffer) {
	var stderr bytes.Buffer
	home := func(name string) string { return map[string]string{"HOME": "/home/x"}[name] }
	return &app{getenv: home, stdout: &bytes.Buffer{}, stderr: &stderr, dataDir: "/home/x/.local/share/braid"}, &stderr
}

func stopped(state messages.QueryState, stop *messages.Stop, completed int) *messages.Status {
	return &messages.Status{
		Query:    &messages.Query{ID: "abcd2345", Service: "rivers", State: state, Chunks: 30, Stop: stop},
		Progress: &messages.Progress{Completed: completed},
	}
}

func TestHowAQueryEndedIsToldWithWhatToDoNext(t *testing.T) {
	quota := string(messages.QuotaExhausted)
	tests := []struct {
		name   string
		status *messages.Status
		code   int
		says   []string
		not    []string
	}{
		{
			"quota", stopped(messages.Interrupted, &messages.Stop{Kind: quota, Status: 429, Reason: "HTTP 429: over"}, 20), exitPaused,
			[]string{"the quota of rivers is used up: HTTP 429: over\n", "20 of 30 chunks; none of them", "continue braid resume abcd2345 --wait\n"},
			[]string{"(HTTP 429)"},
		},
		{
			"status that the text has not", stopped(messages.Interrupted, &messages.Stop{Kind: "service", Status: 503, Reason: "closed"}, 1), exitPaused,
			[]string{"rivers was interrupted: closed (HTTP 503)", "1 of 30 chunks; it will not be asked for again"},
			nil,
		},
		{
			"nothing kept", stopped(messages.Interrupted, &messages.Stop{Kind: quota, Reason: "over"}, 0), exitPaused,
			[]string{"nothing yet: none of 30 chunks was complete"},
			[]string{"asked for again"},
		},
		{
			"failed", stopped(messages.Failed, &messages.Stop{Kind: messages.StopFailure, Position: "3", Class: "bad_request", Reason: "no", Hint: "check the query's parameters"}, 2), exitIncomplete,
			[]string{"chunk 3 failed: no\n", "check the query's parameters; correct the query and run it anew (braid run QUERY.yaml)", "braid resume abcd2345 tries this one again as it is"},
			[]string{"then: braid resume", "continue"},
		},
		{
			"definition", stopped(messages.Failed, &messages.Stop{Kind: messages.StopFailure, Position: "3", Class: "bad_page", Reason: "no list at rows.at"}, 2), exitIncomplete,
			[]string{"the service definition rivers, collection"},
			[]string{"correct the query"},
		},
		{
			"credentials", stopped(messages.Failed, &messages.Stop{Kind: messages.StopFailure, Position: "3", Class: "auth", Reason: "no", Hint: "set the key"}, 2), exitCredentials,
			[]string{"do       set the key\n", "continue braid resume abcd2345\n"},
			[]string{"anew"},
		},
		{
			"cancelled", stopped(messages.Cancelled, &messages.Stop{Kind: messages.StopCancelled, Reason: "cancelled by the user"}, 2), exitIncomplete,
			[]string{"cancelled by the user", "continue braid resume abcd2345\n", "remove   braid rm abcd2345\n"},
			nil,
		},
		{
			"drained", stopped(messages.Interrupted, &messages.Stop{Kind: messages.StopDrained, Reason: "asked to stop"}, 2), exitInterrupted,
			[]string{"stopped  asked to stop", "continue braid resume abcd2345\n"},
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, stderr := desk()
			var exit *exitError
			if err := a.notComplete(test.status, false); !errors.As(err, &exit) || exit.code != test.code {
				t.Errorf("got %v, want exit code %d", err, test.code)
			}
			for _, want := range test.says {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("%q is not in\n%s", want, stderr)
				}
			}
			for _, not := range test.not {
				if strings.Contains(stderr.String(), not) {
					t.Errorf("%q is in\n%s", not, stderr)
				}
			}
		})
	}
}

func TestAnExportTellsOfItsRowsAndOfNoRequests(t *testing.T) {
	for state, want := range map[messages.QueryState]string{
		messages.Complete:    "table    t.csv (1 row, 7 B)\n",
		messages.Interrupted: "table    t.csv (1 row, 7 B)\npartial  the query is interrupted: rows are missing from this table\n",
	} {
		a, stderr := desk()
		if err := a.exported(stopped(state, nil, 3), []written{{Path: "t.csv", Bytes: 7, Report: &frame.Report{Rows: 1}}}, nil); err != nil {
			t.Fatal(err)
		}
		if stderr.String() != want {
			t.Errorf("got %q\nwant %q", stderr, want)
		}
	}
}

func TestACompleteQueryIsToldInNumbers(t *testing.T) {
	a, stderr := desk()
	s := stopped(messages.Complete, nil, 30)
	s.Progress.Requests = 1
	if err := a.complete(s, []written{{Path: "t.csv", Bytes: 7, Report: &frame.Report{Rows: 21960}}}, nil, 1200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if want := "complete 21,960 rows  ·  1 request  ·  1.2s\ntable    t.csv (7 B)\n"; stderr.String() != want {
		t.Errorf("got %q\nwant %q", stderr, want)
	}
}

func TestColumnsThatWereNeverSentAreTold(t *testing.T) {
	a, stderr := desk()
	if a.describe(&frame.Report{Absent: []string{"x_mgd"}}) {
		t.Error("they count as bad values")
	}
	if want := "note     column x_mgd was never sent by the service\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}

func TestAFailedQuerySaysSoInEnglish(t *testing.T) {
	for state, want := range map[messages.QueryState]string{messages.Failed: "has failed", messages.Running: "is running"} {
		if got := standing(state); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}

func TestCollectionsThatNeedValuesAreSkippedAndNamed(t *testing.T) {
	data, ok := service.Builtin("usgs-waterdata")
	d, err := service.Parse("usgs-waterdata.yaml", data)
	if !ok || err != nil {
		t.Fatal(err)
	}
	a, stderr := desk()
	probes, err := a.probes(d, nil, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(probes) == 0 || len(probes) == len(d.Collections) || !strings.Contains(stderr.String(), "skipped  continuous needs time, given by --set\n") {
		t.Errorf("%d of %d collections\n%s", len(probes), len(d.Collections), stderr)
	}
	if _, err := a.probes(d, []string{"continuous"}, nil, 0); exitCode(t.Context(), err) != exitUsage {
		t.Errorf("a collection that is asked for is skipped: %v", err)
	}
}

func TestTheColumnsThatAreShownAreThoseOfTheTable(t *testing.T) {
	columns, key := tableColumns(frame.Shape{
		Fields: []frame.Field{{Name: "id", Type: frame.Text}, {Name: "*_mgd", Type: frame.Decimal}, {Name: "note", Type: frame.Text}},
		Key:    []string{"id"},
		Finalize: []frame.Operation{
			{Rename: map[string]string{"id": "daily_id"}}, {Drop: []string{"note"}}, {Add: map[string]string{"source": "x"}},
		},
	})
	want := []describedColumn{{"daily_id", "text"}, {"source", "text"}, {"*_mgd", "decimal"}}
	if !slices.Equal(columns, want) || !slices.Equal(key, []string{"daily_id"}) {
		t.Errorf("columns %v, key %v", columns, key)
	}
}

func TestValuesThatCannotBeReadAreToldAndExit3UnlessAllowed(t *testing.T) {
	report := &frame.Report{Rows: 21, Bad: []frame.BadField{{Name: "value", Type: frame.Decimal, Count: 2, Originals: []string{"1,000", "x"}}}}
	for allowed, code := range map[bool]int{false: exitIncomplete, true: 0} {
		a, stderr := desk()
		s := stopped(messages.Complete, nil, 30)
		s.Query.AllowBad = allowed
		err := a.complete(s, []written{{Path: "t.csv", Report: report}}, nil, time.Second)
		if exit, refused := errors.AsType[*exitError](err); refused != (code != 0) || refused && exit.code != code {
			t.Errorf("allowed %t: got %v, want exit code %d", allowed, err, code)
		}
		if want := `2 values of value that cannot be read as decimal, null in the table; the first is "1,000"`; !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
	}
}

func TestAQueryThatWaitsNoMoreForAChunkIsToldWithWhatToDo(t *testing.T) {
	a, stderr := desk()
	s := stopped(messages.Running, nil, 29)
	s.Query.WaitUpTo = 24 * time.Hour
	for i := range messages.MaxStuckRounds {
		s.Query.Interrupt(&messages.Stop{Kind: string(messages.ServiceInterrupted), Status: 500, Reason: "chunk 3 (site: s03) answers HTTP 500: oh", At: time.Unix(int64(60*i), 0)}, 29)
	}
	var ended *exitError
	if err := a.notComplete(s, false); !errors.As(err, &ended) || ended.code != exitPaused {
		t.Errorf("it ends with %v", err)
	}
	for _, want := range []string{"paused   it waits no more by itself", "chunk 3 (site: s03)", "\ndo       resume the query when", "\ncontinue braid resume abcd2345"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
	}
}
