// Package leasetest is the contract of a lease.Store as a test suite, and a store with faults to test against. The suite
// runs on the clock of the store under test, so it waits for events and expiries, never for a time of its own.
package leasetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/lease"
)

// patience is how long the suite waits for what a store owes at once. A client of a store over a network may need twice its
// heartbeat, some 10 s, to see that its watch has missed something.
const patience = 30 * time.Second

// Run checks that the stores newStore makes keep the contract of lease.Store, and that semaphores over them do what they
// promise. Each store it makes serves one subtest, in parallel with others; keys may be shared between them only if
// newStore keeps them apart.
func Run(t *testing.T, newStore func(t *testing.T) lease.Store) {
	for _, c := range []struct {
		sentence string
		check    func(*testing.T, lease.Store)
	}{
		{"PutOfANewKeyWantsRevisionZero", putOfANewKeyWantsRevisionZero},
		{"PutIsRefusedWhenTheRevisionDiffers", putIsRefusedWhenTheRevisionDiffers},
		{"OfManyPutsWithOneRevisionOneLands", ofManyPutsWithOneRevisionOneLands},
		{"AnEmptyValueIsAWriteLikeAnyOther", anEmptyValueIsAWriteLikeAnyOther},
		{"GetOfANewKeyIsRevisionZero", getOfANewKeyIsRevisionZero},
		{"WatchTellsWhatStandsThenWhatChanges", watchTellsWhatStandsThenWhatChanges},
		{"WatchTellsOnlyKeysWithItsPrefix", watchTellsOnlyKeysWithItsPrefix},
		{"WatchClosesWhenItsContextEnds", watchClosesWhenItsContextEnds},
		{"WatchTellsAnExpiryAsAnEmptyValue", watchTellsAnExpiryAsAnEmptyValue},
		{"AnExpiredKeyCanBeTakenAgain", anExpiredKeyCanBeTakenAgain},
		{"EveryPutSetsTheExpiryAnew", everyPutSetsTheExpiryAnew},
		{"APutWithoutTTLStays", aPutWithoutTTLStays},
		{"NeverMoreHoldersThanSlots", neverMoreHoldersThanSlots},
		{"ADeadHoldersSlotIsBackSoonAfterItsTTL", aDeadHoldersSlotIsBackSoonAfterItsTTL},
		{"AReleasedSlotGoesToAnotherProcessAtOnce", aReleasedSlotGoesToAnotherProcessAtOnce},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			t.Parallel()
			c.check(t, newStore(t))
		})
	}
}

func mustPut(t *testing.T, s lease.Store, key, value string, revision uint64, ttl time.Duration) uint64 {
	t.Helper()
	written, err := s.Put(t.Context(), key, []byte(value), revision, ttl)
	if err != nil {
		t.Fatalf("Put(%s, %q, revision %d, ttl %v): %v", key, value, revision, ttl, err)
	}
	if written <= revision {
		t.Fatalf("Put(%s) over revision %d gave revision %d; it must grow", key, revision, written)
	}
	return written
}

func mustGet(t *testing.T, s lease.Store, key, value string, revision uint64) {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%s): %v", key, err)
	}
	if e.Key != key || string(e.Value) != value || e.Revision != revision {
		t.Fatalf("Get(%s) = %q at revision %d under key %s, want %q at revision %d", key, e.Value, e.Revision, e.Key, value, revision)
	}
}

func mustConflict(t *testing.T, s lease.Store, key string, revision uint64) {
	t.Helper()
	written, err := s.Put(t.Context(), key, []byte("other"), revision, 0)
	if !errors.Is(err, lease.ErrConflict) {
		t.Fatalf("Put(%s) over revision %d = %d, %v; want ErrConflict", key, revision, written, err)
	}
}

// watch fails the test when ok has not been true of an entry in time.
type watch struct {
	entries <-chan lease.Entry
}

func mustWatch(t *testing.T, s lease.Store, prefix string) watch {
	t.Helper()
	entries, err := s.Watch(t.Context(), prefix)
	if err != nil {
		t.Fatalf("Watch(%s): %v", prefix, err)
	}
	return watch{entries}
}

func (w watch) until(t *testing.T, what string, ok func(lease.Entry) bool) lease.Entry {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e, open := <-w.entries:
			if !open {
				t.Fatalf("watch closed before it told %s", what)
			}
			if ok(e) {
				return e
			}
		case <-timeout:
			t.Fatalf("watch has not told %s within %v", what, patience)
		}
	}
}

func is(key, value string) func(lease.Entry) bool {
	return func(e lease.Entry) bool { return e.Key == key && string(e.Value) == value }
}

func putOfANewKeyWantsRevisionZero(t *testing.T, s lease.Store) {
	mustConflict(t, s, "a.0", 7)
	revision := mustPut(t, s, "a.0", "one", 0, 0)
	mustGet(t, s, "a.0", "one", revision)
	mustConflict(t, s, "a.0", 0)
}

func putIsRefusedWhenTheRevisionDiffers(t *testing.T, s lease.Store) {
	first := mustPut(t, s, "a.0", "one", 0, 0)
	second := mustPut(t, s, "a.0", "two", first, 0)
	mustConflict(t, s, "a.0", first)
	mustConflict(t, s, "a.0", second+1)
	mustConflict(t, s, "a.0", 0)
	mustGet(t, s, "a.0", "two", second)
	third := mustPut(t, s, "a.1", "else", 0, 0)
	mustPut(t, s, "a.0", "three", second, 0)
	mustGet(t, s, "a.1", "else", third)
}

func ofManyPutsWithOneRevisionOneLands(t *testing.T, s lease.Store) {
	base := mustPut(t, s, "a.0", "base", 0, 0)
	var landed atomic.Int32
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Go(func() {
			_, err := s.Put(t.Context(), "a.0", fmt.Append(nil, i), base, 30*time.Second)
			switch {
			case err == nil:
				landed.Add(1)
			case !errors.Is(err, lease.ErrConflict):
				t.Errorf("Put: %v, want ErrConflict", err)
			}
		})
	}
	writers.Wait()
	if n := landed.Load(); n != 1 {
		t.Fatalf("%d of 16 puts with one revision landed, want 1", n)
	}
}

func anEmptyValueIsAWriteLikeAnyOther(t *testing.T, s lease.Store) {
	held := mustPut(t, s, "a.0", "held", 0, 30*time.Second)
	free := mustPut(t, s, "a.0", "", held, 0)
	mustGet(t, s, "a.0", "", free)
	mustConflict(t, s, "a.0", held)
	mustConflict(t, s, "a.0", 0)
	mustPut(t, s, "a.0", "held again", free, 30*time.Second)
}

func getOfANewKeyIsRevisionZero(t *testing.T, s lease.Store) {
	mustGet(t, s, "a.0", "", 0)
}

func watchTellsWhatStandsThenWhatChanges(t *testing.T, s lease.Store) {
	revision := mustPut(t, s, "a.0", "one", 0, 0)
	mustPut(t, s, "a.1", "else", 0, 0)
	w := mustWatch(t, s, "a.")
	seen := map[string]uint64{}
	w.until(t, "both keys that stand", func(e lease.Entry) bool {
		seen[e.Key] = e.Revision
		return len(seen) == 2
	})
	if seen["a.0"] != revision {
		t.Fatalf("watch told revision %d of a.0, want %d", seen["a.0"], revision)
	}
	changed := mustPut(t, s, "a.0", "two", revision, 0)
	if e := w.until(t, "the change", is("a.0", "two")); e.Revision != changed {
		t.Fatalf("watch told revision %d of the change, want %d", e.Revision, changed)
	}
	mustPut(t, s, "a.0", "", changed, 0)
	w.until(t, "the empty value", is("a.0", ""))
	mustPut(t, s, "a.7", "new", 0, 0)
	w.until(t, "the new key", is("a.7", "new"))
}

func watchTellsOnlyKeysWithItsPrefix(t *testing.T, s lease.Store) {
	mustPut(t, s, "ab.0", "foreign", 0, 0)
	w := mustWatch(t, s, "a.")
	mustPut(t, s, "b.0", "foreign", 0, 0)
	mustPut(t, s, "a.0", "ours", 0, 0)
	e := w.until(t, "our key", func(lease.Entry) bool { return true })
	if e.Key != "a.0" {
		t.Fatalf("watch of a. told %s", e.Key)
	}
}

func watchClosesWhenItsContextEnds(t *testing.T, s lease.Store) {
	mustPut(t, s, "a.0", "one", 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	entries, err := s.Watch(ctx, "a.")
	if err != nil {
		t.Fatalf("Watch: %v", err)
	}
	cancel()
	timeout := time.After(patience)
	for {
		select {
		case _, open := <-entries:
			if !open {
				return
			}
		case <-timeout:
			t.Fatalf("watch is open %v after its context ended", patience)
		}
	}
}

func watchTellsAnExpiryAsAnEmptyValue(t *testing.T, s lease.Store) {
	w := mustWatch(t, s, "a.")
	started := time.Now()
	revision := mustPut(t, s, "a.0", "short", 0, time.Second)
	w.until(t, "the expiry, with a revision above the value's", func(e lease.Entry) bool {
		return len(e.Value) == 0 && e.Revision > revision
	})
	// The store stamps the write after it was begun and before its acknowledgement is here, however late that is.
	if after := time.Since(started); after < time.Second {
		t.Fatalf("expired %v after the start of a write with a ttl of 1s", after)
	}
}

func anExpiredKeyCanBeTakenAgain(t *testing.T, s lease.Store) {
	w := mustWatch(t, s, "a.")
	old := mustPut(t, s, "a.0", "short", 0, time.Second)
	marker := w.expiry(t, s, "a.0", old)
	mustConflict(t, s, "a.0", old)
	_, err := s.Put(t.Context(), "a.0", []byte("next"), marker.Revision, time.Minute)
	if errors.Is(err, lease.ErrConflict) { // the marker may be gone; then the read tells what to name
		e, err := s.Get(t.Context(), "a.0")
		if err != nil {
			t.Fatalf("Get: %v", err)
		}
		mustPut(t, s, "a.0", "next", e.Revision, time.Minute)
	} else if err != nil {
		t.Fatalf("Put over the marker: %v", err)
	}
	w.until(t, "the next value", is("a.0", "next"))
}

// expiry waits until the value that was written with a revision has expired, as the watch or a read tells: where the test
// is about the store's clock, a word of the watch that comes late is nothing to it.
func (w watch) expiry(t *testing.T, s lease.Store, key string, revision uint64) lease.Entry {
	t.Helper()
	timeout := time.After(patience)
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		var e lease.Entry
		var open bool
		select {
		case e, open = <-w.entries:
			if !open {
				t.Fatalf("watch closed before %s expired", key)
			}
		case <-poll.C:
			var err error
			if e, err = s.Get(t.Context(), key); err != nil {
				t.Fatalf("Get(%s): %v", key, err)
			}
		case <-timeout:
			t.Fatalf("%s has not expired within %v", key, patience)
		}
		if e.Key == key && len(e.Value) == 0 && (e.Revision > revision || e.Revision == 0) {
			return e
		}
	}
}

// pass waits until a value that is written now with ttl has expired: then so have all that were written before with no
// longer one.
func pass(t *testing.T, s lease.Store, w watch, ttl time.Duration) {
	t.Helper()
	const key = "a.clock"
	e, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	w.expiry(t, s, key, mustPut(t, s, key, "tick", e.Revision, ttl))
}

func everyPutSetsTheExpiryAnew(t *testing.T, s lease.Store) {
	const short, long = 3 * time.Second, 10 * time.Minute
	w := mustWatch(t, s, "a.")
	first := mustPut(t, s, "a.0", "held", 0, short)
	second := mustPut(t, s, "a.0", "held", first, long)
	pass(t, s, w, short)
	mustGet(t, s, "a.0", "held", second)
	third := mustPut(t, s, "a.0", "held", second, time.Second)
	w.expiry(t, s, "a.0", third)
}

func aPutWithoutTTLStays(t *testing.T, s lease.Store) {
	const short = 3 * time.Second
	w := mustWatch(t, s, "a.")
	held := mustPut(t, s, "a.0", "held", 0, short)
	stays := mustPut(t, s, "a.0", "stays", held, 0)
	pass(t, s, w, short)
	mustGet(t, s, "a.0", "stays", stays)
}
