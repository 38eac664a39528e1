package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAnOutageIsToldOnceAndItsEndToo(t *testing.T) {
	noNATS := fmt.Errorf("read: %w: no leader", messages.ErrUnreachable)
	gone := fmt.Errorf("%w: connection refused", braid.ErrServer)
	start := time.Unix(1000, 0)
	type poll struct {
		after time.Duration
		err   error // nil: answered
	}
	for name, c := range map[string]struct {
		polls []poll
		says  []string
		ends  bool
	}{
		"a blink":            {[]poll{{0, gone}, {time.Second, gone}, {1500 * time.Millisecond, nil}}, nil, false},
		"NATS is away":       {[]poll{{0, noNATS}, {time.Second, noNATS}, {time.Minute, nil}}, []string{"cannot reach NATS", "answers again"}, false},
		"the server is gone": {[]poll{{0, gone}, {4 * time.Second, gone}, {9 * time.Second, gone}, {time.Minute, nil}}, []string{"does not answer", "answers again"}, false},
		"one, then another":  {[]poll{{0, noNATS}, {4 * time.Second, gone}}, []string{"cannot reach NATS", "does not answer"}, false},
		"twice":              {[]poll{{0, noNATS}, {1, nil}, {2, noNATS}, {3, nil}}, []string{"cannot reach NATS", "answers again", "cannot reach NATS", "answers again"}, false},
		"for good":           {[]poll{{0, gone}, {time.Minute, gone}, {time.Hour, gone}}, []string{"does not answer"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			away := outage{server: "http://host:1", say: func(text string) { said = append(said, text) }}
			ended := false
			for _, p := range c.polls {
				if p.err == nil {
					away.over()
				} else {
					ended = !away.goesOn(p.err, start.Add(p.after))
				}
			}
			if len(said) != len(c.says) || ended != c.ends {
				t.Fatalf("ended %t, said %q", ended, said)
			}
			for i, want := range c.says {
				if !strings.Contains(said[i], want) || !strings.Contains(said[i], "http://host:1") {
					t.Errorf("said %q, want %q", said[i], want)
				}
			}
		})
	}
	if is(errors.Join(gone), messages.ErrUnreachable) {
		t.Error("the two cannot be told apart")
	}
}
