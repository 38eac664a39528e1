package worker_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestAServiceThatGivesTheSamePageAgainFailsTheChunk(t *testing.T) {
	t.Parallel()
	answer := func(rows int) func(context.Context, testkit.Call) (service.Page, error) {
		return func(_ context.Context, c testkit.Call) (service.Page, error) {
			next := ""
			if c.Pages < 4 {
				next = strconv.Itoa(c.Pages + 2)
			}
			return testkit.Rows("s", 0, rows, next), nil
		}
	}
	for name, c := range map[string]struct {
		counted bool
		rows    int
		want    messages.Outcome
	}{
		"counted":                  {true, 2, messages.OutcomeFailed},
		"named by the service":     {false, 2, messages.OutcomeRows},
		"single rows may be equal": {true, 1, messages.OutcomeRows},
		"no rows":                  {true, 0, messages.OutcomeEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, 2*time.Second)
			script := testkit.NewScript(answer(c.rows))
			r.work("w1", script, func(s *setup) { s.CountedPages = c.counted })
			r.publish(items(1)...)
			h, _ := r.result(0)
			if h.Outcome != c.want {
				t.Fatalf("outcome %s, %+v, want %s", h.Outcome, h.Failure, c.want)
			}
			// The walk begins again once: two pages each time.
			if calls := len(script.Calls()); c.want == messages.OutcomeFailed && calls != 4 {
				t.Errorf("%d requests", calls)
			}
		})
	}
}
