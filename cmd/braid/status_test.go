package main

import (
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

func TestAStatusSaysWhyChunksAreNotAskedForAndWhatWasDivided(t *testing.T) {
	for want, test := range map[string]struct {
		query    messages.Query
		progress messages.Progress
	}{
		"3 of 40 complete, 0 failed":  {messages.Query{Chunks: 40, State: messages.Running, MaxRows: 100}, messages.Progress{Completed: 3}},
		"40 of 40 complete, 0 failed": {messages.Query{Chunks: 40, State: messages.Complete, MaxRows: 100}, messages.Progress{Completed: 40}},
		"3 of 40 complete, 0 failed; the first 100 rows need no more of them": {
			messages.Query{Chunks: 40, State: messages.Complete, MaxRows: 100}, messages.Progress{Completed: 3},
		},
		"0 of 1 complete, 1 failed; 2 too large for the service were divided": {
			messages.Query{Chunks: 1, State: messages.Failed}, messages.Progress{Failed: 1, Split: 2},
		},
	} {
		if got := chunksText(&test.query, &test.progress); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
