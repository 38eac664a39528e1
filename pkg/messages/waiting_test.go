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
