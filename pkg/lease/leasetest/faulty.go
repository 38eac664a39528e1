package leasetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/lease"
)

// ErrInjected is the error of a call that a Fault refused.
var ErrInjected = errors.New("injected")

// Call names a call of a Store.
type Call string

// The calls of a Store.
const (
	Put   Call = "put"
	Get   Call = "get"
	Watch Call = "watch"
)

// Fault says what goes wrong with one call; the zero value is nothing.
type Fault struct {
	Refuse error         // the call never reaches the store
	Late   time.Duration // it reaches the store this late, even when the caller has given up by then
	Slow   time.Duration // its answer takes this long
	Lose   bool          // its answer never comes: the caller waits until its context ends
}

// Faulty is one process's way to a shared store, with faults on it.
type Faulty struct {
	store lease.Store
	fault func(call Call, key string) Fault
	late  sync.WaitGroup

	mu    sync.Mutex // guards drops
	drops map[*context.CancelFunc]struct{}
}

// NewFaulty puts fault before every call of store; it is called from several goroutines.
func NewFaulty(store lease.Store, fault func(call Call, key string) Fault) *Faulty {
	return &Faulty{store: store, fault: fault, drops: map[*context.CancelFunc]struct{}{}}
}

type answer[T any] struct {
	value T
	err   error
}

// through makes one call under its fault.
func through[T any](ctx context.Context, f *Faulty, fault Fault, call func(context.Context) (T, error)) (T, error) {
	var none T
	if fault.Refuse != nil {
		return none, fault.Refuse
	}
	if fault == (Fault{}) {
		return call(ctx)
	}
	answers := make(chan answer[T], 1)
	f.late.Go(func() { // Wait waits for it
		pause(fault.Late)
		value, err := call(context.WithoutCancel(ctx))
		pause(fault.Slow)
		if !fault.Lose {
			answers <- answer[T]{value, err}
		}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func pause(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// Put is lease.Store.Put.
func (f *Faulty) Put(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	return through(ctx, f, f.fault(Put, key), func(ctx context.Context) (uint64, error) {
		return f.store.Put(ctx, key, value, revision, ttl)
	})
}

// Get is lease.Store.Get.
func (f *Faulty) Get(ctx context.Context, key string) (lease.Entry, error) {
	return through(ctx, f, f.fault(Get, key), func(ctx context.Context) (lease.Entry, error) {
		return f.store.Get(ctx, key)
	})
}

// Watch is lease.Store.Watch; of its fault only Refuse counts.
func (f *Faulty) Watch(ctx context.Context, prefix string) (<-chan lease.Entry, error) {
	if err := f.fault(Watch, prefix).Refuse; err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	f.drops[&cancel] = struct{}{}
	f.mu.Unlock()
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.drops, &cancel)
	})
	return f.store.Watch(ctx, prefix)
}

// DropWatches ends all watches, as a lost connection would.
func (f *Faulty) DropWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cancel := range f.drops {
		(*cancel)()
	}
}

// Wait waits for calls that the store still has to see.
func (f *Faulty) Wait() { f.late.Wait() }
