package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidhq/braid/pkg/quota"
)

// quotas is all pools that this worker spends.
type quotas struct {
	w    *Worker
	wake chan struct{} // of one

	mu       sync.Mutex // guards all below
	accounts map[quota.Config]*account
	heard    time.Time

	live atomic.Int64 // workers, as last heard; at least 1
}

const (
	flushEvery  = 50 * time.Millisecond
	retellEvery = 5 * time.Second // it is looked whether the store has lost an account
	countEvery  = 5 * time.Second
	maxAccounts = 1024
)

func newQuotas(w *Worker) *quotas {
	q := &quotas{w: w, wake: make(chan struct{}, 1), accounts: map[quota.Config]*account{}}
	q.live.Store(1)
	return q
}

// account finds the account of a pool by the rules of cfg. Requests that hold back different numbers do not share what is
// reserved.
func (q *quotas) account(cfg quota.Config) *account {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.accounts[cfg]; a != nil {
		return a
	}
	if len(q.accounts) >= maxAccounts {
		for have, a := range q.accounts {
			if _, busy := a.due(time.Time{}); !busy {
				delete(q.accounts, have)
			}
		}
	}
	a := newAccount(q.w, cfg, q.w.ports.NewID()) // whatever workers call themselves, no two of them are one holder
	q.accounts[cfg] = a
	return a
}

// rouse has the accounts looked at.
func (q *quotas) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// workers is how many workers share a limit while the store is away.
func (q *quotas) workers() int64 { return q.live.Load() }

// run keeps the store told until ctx ends, and then gives back what is reserved.
func (q *quotas) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if !q.look(ctx) {
			again := time.NewTimer(retellEvery)
			select {
			case <-q.wake:
			case <-again.C:
			case <-ctx.Done():
			}
			again.Stop()
			continue
		}
		pause(ctx, flushEvery)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRelease)
	defer cancel()
	for _, a := range q.all() {
		if _, busy := a.due(time.Time{}); busy {
			a.flush(last, true)
		}
	}
	return nil
}

// look tells the store what is due. busy: there may be more soon.
func (q *quotas) look(ctx context.Context) (busy bool) {
	now := q.w.ports.Now()
	for _, a := range q.all() {
		due, some := a.due(now)
		busy = busy || some
		switch {
		case due:
			a.flush(ctx, false)
		case !some:
			a.retell(ctx, now)
		}
	}
	if busy && now.Sub(q.heard) > countEvery {
		q.heard = now
		if n, err := q.w.ports.Quotas.CountWorkers(ctx); err == nil {
			q.live.Store(int64(max(1, n)))
		}
	}
	return busy
}

func (q *quotas) all() []*account {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]*account, 0, len(q.accounts))
	for _, a := range q.accounts {
		all = append(all, a)
	}
	return all
}
