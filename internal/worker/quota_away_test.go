package worker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

// Three workers know a pool, and then its store is away: each goes on within its share, which counts what it had sent before.
func TestWithoutItsStoreNoWorkerSpendsMoreThanItsShare(t *testing.T) {
	t.Parallel()
	const limit, hold, workers = 36, 6, 3
	r := newRig(t, 6, 10*time.Second)
	var counts [workers]atomic.Int64
	all, begun := make(chan struct{}), atomic.Int64{}
	stores := make([]*quotasAway, workers)
	cfg := pool(limit, time.Hour)
	cfg.HoldBack = hold
	for i := range workers {
		stores[i] = &quotasAway{Quotas: r.bus}
		script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
			if counts[i].Add(1) == 1 && begun.Add(1) == workers {
				close(all)
			}
			select {
			case <-all: // know the pool
			case <-ctx.Done():
			}
			return rowsOf(ctx, c)
		})
		r.work(fmt.Sprint("w", i), script, func(s *setup) {
			spending(cfg)(s)
			s.Concurrency = 2 // so that all take a part
			s.ports = func(p *worker.Ports) { p.Quotas = stores[i] }
		})
	}
	testkit.Until(t, "all are there", func() bool {
		n, err := r.bus.CountWorkers(t.Context())
		return err == nil && n == workers
	})
	r.publish(items(6)...)
	for i := range 6 {
		r.result(i)
	}
	for _, store := range stores {
		store.gone.Store(true)
	}
	r.publish(items(80)[6:]...)
	r.queueIsEmpty()
	total := int64(0)
	for i := range counts {
		n := counts[i].Load()
		total += n
		if share := int64((limit - hold) / workers); n > share {
			t.Errorf("worker %d has sent %d requests, and its share is %d", i, n, share)
		}
	}
	if total > limit-hold {
		t.Errorf("%d requests of %d", total, limit-hold)
	}
}

// A pool of bytes is overspent by no more than what answers in flight together have beyond the largest one before them.
func TestAPoolOfBytesIsOverspentByNoMoreThanIsSaid(t *testing.T) {
	t.Parallel()
	const slots, largest = 4, 400
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			sizes := rand.New(rand.NewPCG(seed, 1))
			answers := make([]int64, 100)
			for i := range answers {
				answers[i] = 1 + sizes.Int64N(largest)
			}
			cfg := quota.Config{Pool: "volume", Owner: "host-a", Counts: "bytes", Model: quota.Rolling, Limit: 3000, Window: time.Hour}
			r := newRig(t, slots, 10*time.Second)
			var sent, bytes atomic.Int64
			script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
				size := answers[sent.Add(1)-1]
				select {
				case <-time.After(time.Duration(size%5) * time.Millisecond):
				case <-ctx.Done():
				}
				bytes.Add(size)
				page := testkit.Rows(c.Task, 0, 1, "")
				page.Bytes = size
				return page, nil
			})
			for i := range 2 {
				r.work(fmt.Sprint("w", i), script, spending(cfg))
			}
			r.publish(items(100)...)
			r.interrupted(1)
			r.queueIsEmpty()
			// Each of two workers learns by itself how large answers are: of one its first answer is not reserved for.
			most := cfg.Limit + slots*(largest-min(answers[0], answers[1])) + largest
			if got := bytes.Load(); got > most || got < cfg.Limit/2 {
				t.Errorf("%d bytes came of %d, at most %d may", got, cfg.Limit, most)
			}
		})
	}
}
