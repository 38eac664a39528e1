package bus_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
)

func TestTimeIsTheServersWhateverTheProcessTakesItFor(t *testing.T) {
	b := testkit.Bus(t)
	for _, wrong := range []time.Duration{time.Hour, -time.Hour, 5 * time.Second} {
		b.Mistake(wrong)
		if off := time.Until(b.Now()); (off - wrong).Abs() > time.Second {
			t.Fatalf("time that is wrong by %v is off by %v", wrong, off)
		}
		if !b.Reckon(t.Context()) {
			t.Fatal("the server does not tell its time")
		}
		if off := time.Until(b.Now()); off.Abs() > time.Second {
			t.Errorf("after a question to the server, time that was wrong by %v is off by %v", wrong, off)
		}
	}
}

func TestTimeGoesOnWithoutTheServer(t *testing.T) {
	b := testkit.Bus(t)
	before := b.Now()
	if err := b.JetStream().DeleteStream(t.Context(), "RESULTS"); err != nil {
		t.Fatal(err)
	}
	if b.Reckon(t.Context()) {
		t.Error("a server without streams has told its time")
	}
	if now := b.Now(); now.Before(before) || now.Sub(before) > time.Minute {
		t.Errorf("it was %v, and is %v", before, now)
	}
}

func TestTheDriftOfThisMachinesClockIsAskedForAnew(t *testing.T) {
	b := testkit.Bus(t)
	b.Mistake(time.Hour)                                                               // what was reckoned before counts for nothing
	if before, err := b.Drift(t.Context()); err != nil || before.Abs() > time.Second { // one machine
		t.Errorf("it is %s, %v", before, err)
	}
}
