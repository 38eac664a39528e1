package braid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
)

// tables serves tables of one query, whose text counts how often it was made.
func tables(t *testing.T, s *messages.Status, size int) (apiTables, *int) {
	t.Helper()
	shelf := output.NewShelf(t.TempDir(), time.Now)
	t.Cleanup(shelf.Close)
	made := new(int)
	return apiTables{
		shelf:  shelf,
		status: func(context.Context, string) (*messages.Status, error) { return s, nil },
		write: func(_ context.Context, _, _ string, _ bool, w io.Writer) (*frame.Report, error) {
			*made++
			_, err := io.WriteString(w, strings.Repeat(fmt.Sprint(*made), size))
			if err != nil {
				return nil, errors.New("a library that does not wrap it: " + err.Error())
			}
			return &frame.Report{}, nil
		},
		moving: &moving{most: 3, mostBytes: 100},
	}, made
}

func statusIn(state messages.QueryState) *messages.Status {
	now := time.Unix(1_800_000_000, 0)
	return &messages.Status{
		Query:    &messages.Query{V: 1, ID: "q1", State: state, Run: 1, Updated: now},
		Progress: &messages.Progress{V: 1, Query: "q1", Run: 1, Completed: 5, Rows: 7, Updated: now},
	}
}

func tableOf(t *testing.T, tables apiTables, partial bool) *httpapi.Table {
	t.Helper()
	table, err := tables.Table(t.Context(), "q1", "csv", partial)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestAQueryThatHasSettledHasOneTableUntilItChanges(t *testing.T) {
	for _, state := range []messages.QueryState{messages.Complete, messages.Failed, messages.Cancelled, messages.Interrupted} {
		s := statusIn(state)
		served, made := tables(t, s, 4)
		first, second := tableOf(t, served, true), tableOf(t, served, true)
		if *made != 1 || first.ETag == "" || first.ETag != second.ETag {
			t.Errorf("%s: made %d times, %s and %s", state, *made, first.ETag, second.ETag)
		}
		first.Close()
		second.Close()
		for name, change := range map[string]func(){
			"another run":  func() { s.Query.Run++ },
			"changed":      func() { s.Query.Updated = s.Query.Updated.Add(1) },
			"one more":     func() { s.Progress.Completed++ },
			"more rows":    func() { s.Progress.Rows++ },
			"progress":     func() { s.Progress.Updated = s.Progress.Updated.Add(1) },
			"no progress":  func() { s.Progress = nil },
			"other state":  func() { s.Query.State = messages.Failed + "x" },
			"not partial ": nil,
		} {
			before := *made
			if change != nil {
				if s.Progress == nil {
					s.Progress = statusIn(state).Progress
				}
				change()
			}
			table := tableOf(t, served, change != nil)
			table.Close()
			if *made != before+1 {
				t.Errorf("%s, %s: made %d times more", state, name, *made-before)
			}
		}
	}
}

func TestTablesOfAQueryThatGoesOnAreBounded(t *testing.T) {
	waiting := statusIn(messages.Interrupted)
	waiting.Query.WaitUpTo = time.Hour
	waiting.Query.Stop = &messages.Stop{Kind: string(messages.QuotaExhausted), At: waiting.Query.Updated, Until: waiting.Query.Updated.Add(time.Minute)}
	for name, c := range map[string]struct {
		status     *messages.Status
		size, most int
	}{
		"in number":              {statusIn(messages.Running), 4, 3},
		"in bytes":               {statusIn(messages.Running), 40, 2},
		"one that waits, bytes":  {waiting, 40, 2},
		"one that stops, number": {statusIn(messages.Stopping), 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			served, made := tables(t, c.status, c.size)
			var read []*httpapi.Table
			for range c.most {
				table := tableOf(t, served, true)
				text, err := io.ReadAll(table.Content)
				if err != nil || len(text) != c.size || table.ETag != "" {
					t.Errorf("%q, %v, tag %s", text, err, table.ETag)
				}
				read = append(read, table)
			}
			if *made != c.most {
				t.Errorf("made %d times, want one for each reader", *made)
			}
			for range 2 { // whoever is refused keeps no place
				_, err := served.Table(t.Context(), "q1", "csv", true)
				var p *contract.Problem
				if !errors.As(err, &p) || p.Type != contract.KindNamed(contract.Busy).Type() {
					t.Fatalf("one too many: %v", err)
				}
			}
			for _, table := range read {
				table.Close()
			}
			for range 2 * c.most {
				tableOf(t, served, true).Close()
			}
			if served.moving.count != 0 || served.moving.bytes != 0 {
				t.Errorf("%d places and %d bytes are kept", served.moving.count, served.moving.bytes)
			}
		})
	}
}
