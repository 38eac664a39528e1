package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// stopped acquires a slot whose timers never run and whose renewals all fail, as if the process stood still.
func stopped(t *testing.T) *Slot {
	t.Helper()
	s, err := New(NewMemory(0), Name{Service: "svc"}, Config{Slots: 1, Holder: "w"})
	if err != nil {
		t.Fatal(err)
	}
	slot, err := s.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slot.watchdog.Stop()
	slot.hangUp()
	return slot
}

func TestAStoppedProcessSeesItsLeaseEndedBeforeItsTimersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := stopped(t)
		defer func() { _ = slot.Release(t.Context()) }()
		ctx, cancel := slot.Context(t.Context())
		defer cancel()
		<-time.After(25*time.Second - 1)
		if !slot.Valid() || ctx.Err() != nil {
			t.Fatal("not valid a moment before the deadline")
		}
		<-time.After(1)
		if slot.Valid() {
			t.Error("valid at the deadline")
		}
		if cause := context.Cause(slot.ctx); !errors.Is(cause, ErrLost) {
			t.Errorf("the slot's context says %v once Valid has said no, want ErrLost", cause)
		}
	})
}

func TestAnAcknowledgementReadAfterAStopExtendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := stopped(t)
		defer func() { _ = slot.Release(t.Context()) }()
		sent := time.Now().Add(24 * time.Second)
		<-time.After(25 * time.Second) // the deadline, before the next renewal finds it passed
		slot.extend(2, sent)
		if slot.Valid() {
			t.Error("an acknowledgement read after the deadline extended it")
		}
	})
}

func TestADeadlinePassesByEitherClock(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		deadline time.Time
		want     bool
	}{
		"both ahead":       {now.Add(time.Hour), false},
		"both behind":      {now.Add(-time.Nanosecond), true},
		"wall clock alone": {now.Round(0).Add(-time.Hour), true},
	} {
		if got := passed(c.deadline); got != c.want {
			t.Errorf("%s: passed is %v, want %v", name, got, c.want)
		}
	}
}

// wallBehind moves the wall clock's reading of t back by whole seconds, and leaves its monotonic reading alone, as no function of
// package time does.
func wallBehind(t time.Time, seconds uint64) time.Time {
	const secondShift = 30 // of time.Time's first word, when t has a monotonic reading
	words := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t)) //nolint:gosec // the test alone makes such a time
	words.wall -= seconds << secondShift
	return t
}

// The monotonic clock of a machine that slept did not go on; its wall clock did.
func TestADeadlinePassesByTheWallClockThoughTheMonotonicClockStoodStill(t *testing.T) {
	now := time.Now()
	deadline := wallBehind(now.Add(time.Hour), 2*60*60)
	if !now.Before(deadline) || now.Round(0).Sub(deadline.Round(0)) != time.Hour {
		t.Fatalf("time.Time is built in another way now: %v is to be an hour behind by the wall clock alone", deadline)
	}
	if !passed(deadline) {
		t.Error("a deadline that lies behind by the wall clock has not passed")
	}
}

func TestDecodeHoldingRefusesWhatIsNoHolding(t *testing.T) {
	for _, value := range []string{"", "x", `{"lease":1}`, string(make([]byte, maxValueLen+1))} {
		if _, err := DecodeHolding([]byte(value)); err == nil {
			t.Errorf("decoded %.20q", value)
		}
	}
}

func FuzzAValueStandsOnlyForItsOwnLease(f *testing.F) {
	own := Holding{Lease: "a", Worker: "w"}
	value, err := own.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte(`{"lease":"a","worker":"v"}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		stands := own.stands(Entry{Value: value})
		h, err := DecodeHolding(value)
		if want := err == nil && h.Lease == "a" && h.Worker == "w"; stands != want {
			t.Errorf("%q stands: %v, want %v", value, stands, want)
		}
	})
}
