package messages_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

func TestWaitingAddsUpUntilAPositionIsCompleted(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	q := &messages.Query{WaitUpTo: 70 * time.Second}
	away := func(at time.Time, completed int) bool {
		q.Interrupt(&messages.Stop{Kind: string(messages.ServiceInterrupted), At: at}, completed)
		return q.ResumesByItself()
	}
	// Each interruption is waited out for 30 s.
	if !away(start, 5) || !away(start.Add(35*time.Second), 5) {
		t.Fatal("gave up within its time")
	}
	if away(start.Add(65*time.Second), 5) {
		t.Error("goes on waiting without anything completed")
	}
	if !away(start.Add(65*time.Second), 6) {
		t.Error("gave up although a position was completed")
	}
}

func TestAChunkThatIsNeverAnsweredEndsTheWaitingAfterSomeRounds(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		status, completed, rounds int // rounds that are waited out; 0: all
	}{{500, 29, messages.MaxStuckRounds - 1}, {500, 0, 0}, {503, 29, 0}, {0, 29, 0}} {
		q := &messages.Query{WaitUpTo: 24 * time.Hour}
		waited := 0
		for i := range 50 {
			q.Interrupt(&messages.Stop{Kind: string(messages.ServiceInterrupted), Status: test.status, At: start.Add(time.Duration(i) * time.Minute)}, test.completed)
			if !q.ResumesByItself() {
				break
			}
			waited++
		}
		if want := max(test.rounds, 50*(1-min(1, test.rounds))); waited != want {
			t.Errorf("HTTP %d with %d complete: %d rounds were waited out, want %d", test.status, test.completed, waited, want)
		}
		q.Interrupt(&messages.Stop{Kind: string(messages.ServiceInterrupted), Status: test.status, At: start.Add(time.Hour)}, test.completed+1)
		if !q.ResumesByItself() {
			t.Errorf("HTTP %d: gave up although a position was completed", test.status)
		}
	}
}

func TestAServiceThatNamedATimeIsNotAskedBefore(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kind        messages.InterruptionKind
		named, want time.Duration
	}{
		{messages.ServiceInterrupted, 0, 30 * time.Second},
		{messages.ServiceInterrupted, time.Second, 30 * time.Second}, // it failed in spite of all retries
		{messages.ServiceInterrupted, time.Hour, time.Hour},
		{messages.QuotaExhausted, 0, 30 * time.Second},
		{messages.QuotaExhausted, time.Second, time.Second},
	} {
		stop := &messages.Stop{Kind: string(c.kind), At: at}
		if c.named > 0 {
			stop.Until = at.Add(c.named)
		}
		q := &messages.Query{State: messages.Interrupted, Stop: stop}
		if got := q.ResumeAt().Sub(at); got != c.want {
			t.Errorf("%s that named %s: goes on after %s, want %s", c.kind, c.named, got, c.want)
		}
	}
}
