package coordinator_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

func TestTheTableDoesNotDependOnTheOrderOfResults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	var mu sync.Mutex
	waiting := map[string]chan struct{}{"s00": make(chan struct{}), "s01": make(chan struct{}), "s02": make(chan struct{})}
	after := map[string]string{"s01": "s00", "s02": "s01", "s03": "s02"} // who ends lets whom go
	script := testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		mu.Lock()
		mine, next := waiting[siteOf(call)], waiting[after[siteOf(call)]]
		mu.Unlock()
		if mine != nil {
			select {
			case <-mine:
			case <-ctx.Done():
			}
		}
		if call.Cursor != "" && next != nil {
			defer close(next)
		}
		return two(call)
	})
	r.work(script)
	backwards := r.submit(c, sites(4))
	r.settles(backwards.ID, 1, messages.Complete)
	first := r.tables(c, backwards.ID)
	if diff := cmp.Diff(first, r.tables(c, backwards.ID)); diff != "" {
		t.Errorf("two exports differ: %s", diff)
	}
	other := newRig(t)
	c2 := other.lead()
	other.work(testkit.NewScript(always))
	forwards := other.submit(c2, sites(4))
	other.settles(forwards.ID, 1, messages.Complete)
	if diff := cmp.Diff(first, other.tables(c2, forwards.ID)); diff != "" {
		t.Errorf("the tables of two runs differ: %s", diff)
	}
}

func TestAnUnfinishedTableIsGivenOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	h := hold("s01")
	r.work(h.adapter)
	q := r.submit(c, sites(3))
	testkit.Receive(t, "held request", h.came)
	testkit.Until(t, "the others are complete", func() bool {
		survey, err := c.Survey(t.Context(), q)
		return err == nil && survey.Completed.Roots() == 2
	})
	if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, query.ErrIncomplete) {
		t.Errorf("export gave %v, want ErrIncomplete", err)
	}
	e, err := c.Export(t.Context(), q.ID, true)
	if err != nil || e.Table.Report.Rows != 8 || e.Meta["braid.partial"] != "true" {
		t.Errorf("the partial table: %+v, %v", e, err)
	}
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
}
