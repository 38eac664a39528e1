package worker_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

// slowLook is a store of results in which each look takes as long as it says.
type slowLook struct {
	worker.Results
	look func()
}

func (s slowLook) HasResult(ctx context.Context, query string, p messages.Position) (bool, error) {
	s.look()
	return s.Results.HasResult(ctx, query, p)
}

// slowQuotas is a store of accounts that takes a moment. While the worker stands still, nothing of it goes there.
type slowQuotas struct {
	worker.Quotas
	still *sync.RWMutex
	took  func()
}

func (s slowQuotas) UpdateQuota(ctx context.Context, pool, owner string, edit func(*messages.QuotaLedger) *messages.QuotaLedger) error {
	defer s.took()
	s.still.RLock()
	defer s.still.RUnlock()
	return s.Quotas.UpdateQuota(ctx, pool, owner, edit)
}

// A worker stands still between taking a unit and sending its request, for so long that another one is given the unit.
func TestAReservationThatWasOverIsNotSpent(t *testing.T) {
	t.Parallel()
	const window = time.Second
	cfg := pool(1, window)
	r := newRig(t, 1, 10*time.Second)
	var ahead atomic.Int64 // of the worker's clock
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	var charged, stood atomic.Bool
	var other, sent atomic.Int64
	var still sync.RWMutex
	stand := func() {
		if !charged.Load() || !stood.CompareAndSwap(false, true) {
			return
		}
		still.Lock()
		defer still.Unlock()
		ahead.Add(int64(2 * window))
		err := r.bus.UpdateQuota(t.Context(), cfg.Pool, cfg.Owner, func(l *messages.QuotaLedger) *messages.QuotaLedger {
			ledger := quota.Open(cfg, l)
			if g := ledger.Exchange(now(), "other", time.Second, quota.Report{Need: 1}); g.Free != 1 {
				t.Errorf("the other one is denied: %+v", g.Denied)
			}
			ledger.Exchange(now(), "other", time.Second, quota.Report{Spends: []quota.Spend{{Sent: now(), Answered: now(), Units: 1}}})
			return ledger.State()
		})
		if err != nil {
			t.Error(err)
		}
		other.Store(now().UnixNano())
	}
	script := testkit.NewScript(func(_ context.Context, _ testkit.Call) (service.Page, error) {
		sent.Store(now().UnixNano())
		return testkit.Rows("a", 0, 1, ""), nil
	})
	r.work("w1", script, func(s *setup) {
		spending(cfg)(s)
		s.ports = func(p *worker.Ports) {
			p.Now = now
			p.Results = slowLook{p.Results, stand}
			p.Quotas = slowQuotas{p.Quotas, &still, func() {
				if charged.CompareAndSwap(false, true) {
					ahead.Add(int64(50 * time.Millisecond)) // so that it is looked for a result again before the request
				}
			}}
		}
	})
	item := items(1)[0]
	item.Recheck = true
	r.publish(item)
	r.result(0)
	if !stood.Load() {
		t.Fatal("it never stood still with a unit in hand")
	}
	if gap := time.Duration(sent.Load() - other.Load()); gap < window {
		t.Errorf("the one unit of a window of %s was spent twice within %s", window, gap)
	}
}

// What answers cost is reserved before they come: where nothing is known, one shows how large they are.
func TestAPoolOfRowsIsOverspentByNoMoreThanAnswersExceedTheLargestBefore(t *testing.T) {
	t.Parallel()
	cfg := quota.Config{Pool: "volume", Owner: "host-a", Counts: "rows", Model: quota.Rolling, Limit: 100, Window: time.Hour}
	for name, test := range map[string]struct {
		page int64
		rows int64
		most int64 // rows that come
	}{
		"nothing is known": {0, 30, 90},
		"as the page has":  {30, 30, 90},
		"larger than one":  {10, 30, 180}, // three pages of a reserve of ten each, and each brings thirty
		"more than a pool": {0, 130, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 4, 10*time.Second)
			var rows atomic.Int64
			script := testkit.NewScript(func(_ context.Context, _ testkit.Call) (service.Page, error) {
				rows.Add(test.rows)
				return testkit.Rows("a", 0, int(test.rows), ""), nil
			})
			r.work("w1", script, func(s *setup) {
				spending(cfg)(s)
				s.PageRows = test.page
			})
			r.publish(items(10)...)
			testkit.Until(t, "the pool is spent", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.interruptions) > 0
			})
			r.queueIsEmpty()
			if got := rows.Load(); got > test.most || got < test.rows {
				t.Errorf("%d rows of %d came, want at most %d", got, cfg.Limit, test.most)
			}
		})
	}
}
