package coordinator_test

import (
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestWhatWasLeftOfAQuotaIsNotToldOfAQueryThatHasEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 2)
	c := r.onlooker()
	for _, test := range []struct {
		edit func(*messages.Query)
		want int
	}{
		{func(*messages.Query) {}, 0},
		{func(q *messages.Query) {
			q.State, q.Stop = messages.Interrupted, &messages.Stop{Kind: string(messages.QuotaExhausted), Reason: "none is left", At: q.Updated}
		}, 1},
		{func(q *messages.Query) {
			q.State, q.Stop = messages.Cancelled, &messages.Stop{Kind: messages.StopCancelled, Reason: "cancelled on request", At: q.Updated}
		}, 0},
	} {
		r.edit(q.ID, test.edit)
		s, err := c.Status(t.Context(), q.ID)
		if err != nil {
			t.Fatal(err)
		}
		p := *s.Progress
		p.Quotas = []messages.PoolLeft{{Pool: "rivers", Left: 25, Limit: 40}} // as a progress that was saved while it ran has them
		if err := r.bus.SaveProgress(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		s, err = c.Status(t.Context(), q.ID)
		if err != nil || len(s.Progress.Quotas) != test.want {
			t.Errorf("%s: %v, %v", s.Query.State, s.Progress.Quotas, err)
		}
	}
}
