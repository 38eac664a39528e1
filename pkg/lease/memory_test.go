package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/lease/leasetest"
)

func TestMemoryKeepsTheContractOfAStore(t *testing.T) {
	leasetest.Run(t, func(*testing.T) lease.Store { return lease.NewMemory(0) })
}

func TestMemoryForgetsAMarkerAfterItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := lease.NewMemory(time.Minute)
		put(t, m, "a.0", "held", 0, time.Second)
		<-time.After(2 * time.Second)
		marker := get(t, m, "a.0")
		if len(marker.Value) != 0 || marker.Revision != 2 {
			t.Fatalf("after the expiry: %+v, want a marker at revision 2", marker)
		}
		<-time.After(time.Minute)
		if e := get(t, m, "a.0"); e.Revision != 0 {
			t.Fatalf("after the marker's life: %+v, want revision 0", e)
		}
		if _, err := m.Put(t.Context(), "a.0", nil, marker.Revision, 0); !errors.Is(err, lease.ErrConflict) {
			t.Fatalf("Put over the forgotten marker: %v, want ErrConflict", err)
		}
	})
}

func TestMemoryRefusesATTLThatIsNotWholeSeconds(t *testing.T) {
	m := lease.NewMemory(0)
	for _, ttl := range []time.Duration{-time.Second, 1500 * time.Millisecond, time.Nanosecond} {
		if _, err := m.Put(t.Context(), "a.0", nil, 0, ttl); err == nil {
			t.Errorf("Put with ttl %v succeeded", ttl)
		}
	}
}

func put(t *testing.T, s lease.Store, key, value string, revision uint64, ttl time.Duration) uint64 {
	t.Helper()
	written, err := s.Put(t.Context(), key, []byte(value), revision, ttl)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return written
}

func get(t *testing.T, s lease.Store, key string) lease.Entry {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return e
}
