package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

func failedChunks(asks ...string) *messages.Failures {
	list := &messages.Failures{Query: "abcd2345", State: messages.Failed}
	for i, text := range asks {
		list.Failures = append(list.Failures, messages.FailedChunk{Position: messages.PositionAt(i), Class: "bad_request", Status: 400, Asks: text, Message: "no"})
	}
	return list
}

func TestWhatAllFailedChunksAskForIsToldOnce(t *testing.T) {
	for name, test := range map[string]struct {
		list  *messages.Failures
		says  []string
		count map[string]int
	}{
		"some is common": {
			failedChunks("site: s01; code: 00060; time: 2015-01/2015-12", "site: s02; code: 00060; time: 2015-01/2015-12"),
			[]string{"all ask for code: 00060; time: 2015-01/2015-12\n", "\tsite: s01\t", "\tsite: s02\t"},
			map[string]int{"00060": 1},
		},
		"one":             {failedChunks("site: s01; code: 00060"), []string{"\tsite: s01; code: 00060\t"}, map[string]int{"all ask": 0}},
		"nothing":         {failedChunks("site: s01", "site: s02"), []string{"\tsite: s01\t", "\tsite: s02\t"}, map[string]int{"all ask": 0}},
		"all":             {failedChunks("site: s01", "site: s01"), nil, map[string]int{"all ask": 0, "site: s01": 2}},
		"it is not known": {failedChunks("", ""), nil, map[string]int{"all ask": 0}},
		"twice in one":    {failedChunks("a; a", "b"), []string{"\ta; a\t"}, map[string]int{"all ask": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := desk()
			if err := a.printFailures(test.list); err != nil {
				t.Fatal(err)
			}
			text := a.stdout.(*bytes.Buffer).String()
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for what, n := range test.count {
				if got := strings.Count(text, what); got != n {
					t.Errorf("%q is told %d times, want %d:\n%s", what, got, n, text)
				}
			}
		})
	}
}
