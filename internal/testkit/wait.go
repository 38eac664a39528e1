package testkit

import (
	"context"
	"testing"
	"time"
)

// Patience is how long tests wait for what has to happen; a busy machine is slow.
const Patience = 30 * time.Second

// Until waits for ok to be true, and fails the test when it is not in time. what ends the sentence "it did not happen that".
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen in %v that %s", Patience, what)
		}
		<-tick.C
	}
}

// Receive waits for a value of c, and fails the test when none comes in time.
func Receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v, open := <-c:
		if !open {
			t.Fatalf("closed while waiting for %s", what)
		}
		return v
	case <-time.After(Patience):
		t.Fatalf("no %s in %v", what, Patience)
	}
	panic("unreachable")
}

// Running is something that runs until it is stopped.
type Running struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// Run starts run, and stops it when the test ends; its error fails the test then.
func Run(t testing.TB, run func(context.Context) error) *Running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &Running{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = run(ctx)
	}()
	t.Cleanup(func() {
		if err := r.Stop(t); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return r
}

// Cancel asks it to stop, and does not wait.
func (r *Running) Cancel() { r.cancel() }

// Ended is closed when it has ended.
func (r *Running) Ended() <-chan struct{} { return r.ended }

// Stop stops it and gives the error that it ended with.
func (r *Running) Stop(t testing.TB) error {
	t.Helper()
	r.cancel()
	select {
	case <-r.ended:
	case <-time.After(Patience):
		t.Fatalf("it does not end within %v after it was told to", Patience)
	}
	return r.err
}
