package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

func pool(limit int64, window time.Duration) quota.Config {
	return quota.Config{Pool: "gateway", Owner: "host-a", Counts: "requests", Model: quota.Rolling, Limit: limit, Window: window}
}

func spending(pools ...quota.Config) func(*setup) {
	return func(s *setup) { s.Pools = func() ([]quota.Config, error) { return pools, nil } }
}

func TestNoRequestIsSentBeyondTheQuotaOfAPool(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, time.Second)
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, spending(pool(5, time.Hour)))
	r.work("w2", script, spending(pool(5, time.Hour)))
	r.publish(items(9)...)
	for _, m := range r.interrupted(4) {
		if m.Kind != messages.QuotaExhausted || m.Status != 0 || time.Until(m.Until) < 59*time.Minute {
			t.Errorf("interruption %+v", m)
		}
		contains(t, m.Reason, "the pool gateway has 0 of 5 left until ")
	}
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
}

func TestAShortWaitForAPoolIsWaitedOutWithTheItemInHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, time.Second)
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, spending(pool(3, time.Second)))
	r.publish(items(8)...)
	for i := range 8 {
		r.result(i)
	}
	if told := r.told(); len(told) > 0 {
		t.Errorf("interrupted: %+v", told[0])
	}
}

func TestAnItemHoldsBackWhatItsQuerySays(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, time.Second)
	script := testkit.NewScript(rowsOf)
	r.work("w1", script, spending(pool(5, time.Hour)))
	all := items(4)
	for _, item := range all {
		item.HoldBack = 3
	}
	r.publish(all...)
	contains(t, r.interrupted(2)[0].Reason, "3 held back")
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestAnItemIsGivenBackWhenItsAllowanceIsSpent(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, time.Second)
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		next := ""
		if c.Pages < 4 {
			next = fmt.Sprintf("page %d", c.Pages+1)
		}
		return testkit.Rows("a", c.Pages, 1, next), nil
	})
	r.work("w1", script, nil)
	item := items(1)[0]
	item.Allowance = 3
	r.publish(item)
	m := r.interrupted(1)[0]
	if m.Kind != messages.AllowanceSpent || m.Sent != 3 || m.Requests != 0 {
		t.Errorf("%+v", m)
	}
	r.queueIsEmpty()
	item.Recheck = true
	r.publish(item)
	if h, rows := r.result(0); h.Sent != 2 || h.Requests != 5 || strings.Count(rows, "\n") != 5 {
		t.Errorf("%+v\n%s", h, rows)
	}
}

// quotasAway is a store of quotas that can be away.
type quotasAway struct {
	worker.Quotas
	gone atomic.Bool
}

func (a *quotasAway) UpdateQuota(ctx context.Context, pool, owner string, edit func(*messages.QuotaLedger) *messages.QuotaLedger) error {
	if a.gone.Load() {
		return messages.ErrUnreachable
	}
	return a.Quotas.UpdateQuota(ctx, pool, owner, edit)
}

func TestWithoutItsStoreAPoolIsSpentByShares(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, time.Second)
	store := &quotasAway{Quotas: r.bus}
	script := testkit.NewScript(rowsOf)
	const limit = 20
	r.work("w1", script, func(s *setup) {
		spending(pool(limit, time.Hour))(s)
		s.ports = func(p *worker.Ports) { p.Quotas = store }
	})
	r.publish(items(1)...)
	r.result(0)
	testkit.Until(t, "the reservation is over", func() bool {
		all, err := r.bus.ListQuotas(t.Context())
		return err == nil && len(all) == 1 && !slices.ContainsFunc(all[0].Reserved, func(r messages.QuotaReservation) bool { return r.Free+r.Flying > 0 })
	})
	store.gone.Store(true)
	r.publish(items(40)[1:]...)
	r.interrupted(20)
	r.queueIsEmpty()
	if n := len(script.Calls()); n > limit || n < limit/2 {
		t.Errorf("%d requests, want at most the share of one worker, which is %d", n, limit)
	}
}
