package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// verified is a coordinator that has verified some queries.
type verified struct {
	braid.Coordinator
	found map[string][]messages.VerifiedQuery // with those that they go on from
	order []string
	asked []string
}

func (v *verified) Statuses(context.Context) ([]*messages.Status, error) {
	var all []*messages.Status
	for _, id := range v.order {
		all = append(all, &messages.Status{Query: &messages.Query{ID: id}, Progress: &messages.Progress{}})
	}
	return all, nil
}

func (v *verified) Verify(_ context.Context, id string, _ bool) (*messages.Verification, error) {
	v.asked = append(v.asked, id)
	found, known := v.found[id]
	if !known {
		return nil, messages.ErrNotFound
	}
	return &messages.Verification{V: 1, Query: id, Queries: found}, nil
}

func TestAllQueriesAreVerifiedAndEachLossIsToldInOneLine(t *testing.T) {
	whole := func(id string, n int) messages.VerifiedQuery {
		return messages.VerifiedQuery{ID: id, State: messages.Complete, Results: n, Bytes: 1000}
	}
	lost := messages.VerifiedQuery{ID: "q-lost", State: messages.Interrupted, Results: 3, Damaged: 55, Missing: 2, Pending: 57, Reopened: true}
	lapsed := messages.VerifiedQuery{ID: "q-lapsed", State: messages.Interrupted, Pending: 60, Lapsed: true}
	for name, test := range map[string]struct {
		queries *verified
		code    int
		says    string
	}{
		"all are whole": {
			&verified{order: []string{"child", "base", "other", "gone"}, found: map[string][]messages.VerifiedQuery{
				"child": {whole("child", 2), whole("base", 5)}, "base": {whole("base", 5)}, "other": {whole("other", 1)},
			}}, exitOK, "verified 3 queries: 8 results, with 3 kB of rows, are as they were committed\n",
		},
		"some have lost": {
			&verified{order: []string{"q-lost", "other", "q-lapsed"}, found: map[string][]messages.VerifiedQuery{
				"q-lost": {lost}, "other": {whole("other", 1)}, "q-lapsed": {lapsed},
			}}, exitIncomplete, "lost     q-lost: 55 damaged, 2 missing; 3 of 60 stored; 57 are pending; braid resume q-lost\n" +
				"lost     q-lapsed: 0 of 60 stored; 60 are pending; braid resume q-lapsed\n" +
				"verified 1 query: 4 results, with 1 kB of rows, are as they were committed\n",
		},
		"there are none": {&verified{}, exitOK, "verified 0 queries: 0 results, with 0 B of rows, are as they were committed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			a, stderr := desk()
			code := exitCode(t.Context(), a.verifyAll(t.Context(), &session{Coordinator: test.queries, app: a}, true))
			if code != test.code || stderr.String() != test.says {
				t.Errorf("exit code %d, want %d\n%s\nwant\n%s", code, test.code, stderr, test.says)
			}
			if len(test.queries.asked) > len(test.queries.order)-1 && name == "all are whole" {
				t.Errorf("asked for %v: what another one goes on from is read twice", test.queries.asked)
			}
		})
	}
}

func TestAQueryThatHasLostAllIsNotSaidToBeWhole(t *testing.T) {
	for name, test := range map[string]struct {
		query messages.VerifiedQuery
		code  int
		says  string
	}{
		"lost before": {
			messages.VerifiedQuery{ID: "q1", State: messages.Interrupted, Pending: 60, Lapsed: true},
			exitIncomplete,
			"lost     q1: results were lost, and have not been fetched again: 0 of 60 stored; 60 are pending\n",
		},
		"never there": {messages.VerifiedQuery{ID: "q1", State: messages.Interrupted, Pending: 60}, exitOK, "verified q1: 0 of 60 stored; 60 are pending."},
		"whole":       {messages.VerifiedQuery{ID: "q1", State: messages.Complete, Results: 60}, exitOK, "verified q1: 60 results, with 0 B of rows, are as they were committed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			a, stderr := desk()
			err := a.verification(&messages.Verification{Queries: []messages.VerifiedQuery{test.query}})
			if code := exitCode(t.Context(), err); code != test.code || !strings.HasPrefix(stderr.String(), test.says) {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, stderr)
			}
			if other := strings.Contains(stderr.String(), "check    braid verify"); other != (test.code != exitOK) {
				t.Errorf("that others may be hit is told: %v\n%s", other, stderr)
			}
		})
	}
}

func TestAStopWhileWaitingKeepsReasonAndTime(t *testing.T) {
	a, stderr := desk()
	a.waits = true
	s := stopped(messages.Interrupted, &messages.Stop{Kind: string(messages.ServiceInterrupted), Status: 503, Reason: "closed", At: time.Now()}, 20)
	var exit *exitError
	if err := a.notComplete(s, true); !errors.As(err, &exit) || exit.code != exitInterrupted {
		t.Errorf("got %v, want exit code %d", err, exitInterrupted)
	}
	for _, want := range []string{"stopped  this process was asked to stop\n", "rivers was interrupted: closed (HTTP 503)\n", "next     ", "continue braid resume abcd2345 --wait\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
	}
}

func TestASecondStopSaysHowToGoOn(t *testing.T) {
	a, stderr := desk()
	a.atOnce("abcd2345", stopped(messages.Running, nil, 20))
	if want := "stopped  at once\nkept     20 of 30 chunks; none of them will be asked for again\ncontinue braid resume abcd2345\n"; stderr.String() != want {
		t.Errorf("got\n%s\nwant\n%s", stderr, want)
	}
	stderr.Reset()
	a.atOnce("abcd2345", nil)
	if want := "stopped  at once\ncontinue braid resume abcd2345\n"; stderr.String() != want {
		t.Errorf("got\n%s\nwant\n%s", stderr, want)
	}
}
