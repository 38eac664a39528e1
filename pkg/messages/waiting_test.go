package messages_test

import (
	"strings"
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

func TestAQueryThatWaitsNoMoreForAChunkSaysWhyAndWhatToDo(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const reason, hint = "chunk 3 (site: s03) answers HTTP 500: oh; 3 of 4 chunks are complete", "a resume asks for it again"
	after := func(waits time.Duration, status, rounds int, reason string) (*messages.Query, messages.Stop) {
		q := &messages.Query{WaitUpTo: waits}
		var stop messages.Stop
		for i := range rounds {
			stop = messages.Stop{Kind: string(messages.ServiceInterrupted), Status: status, Reason: reason, Hint: hint, At: at.Add(time.Duration(i) * time.Minute)}
			q.Interrupt(&stop, 3)
		}
		return q, stop
	}
	for _, test := range []struct {
		waits          time.Duration
		status, rounds int
		gaveUp         bool
	}{
		{24 * time.Hour, 500, messages.MaxStuckRounds - 1, false},
		{24 * time.Hour, 500, messages.MaxStuckRounds, true},
		{24 * time.Hour, 500, messages.MaxStuckRounds + 1, true}, // somebody has resumed it, and the record was not renewed
		{24 * time.Hour, 503, messages.MaxStuckRounds, false},    // it is away
		{0, 500, messages.MaxStuckRounds, false},                 // it never waited by itself
	} {
		q, given := after(test.waits, test.status, test.rounds, reason)
		if given.Reason != reason || given.Hint != hint {
			t.Errorf("%+v: what was given is %+v", test, given)
		}
		said := strings.HasPrefix(q.Stop.Reason, "it waits no more by itself, for the last 5 runs ended so without a chunk completed: chunk 3 ") && strings.HasSuffix(q.Stop.Reason, reason)
		if q.GaveUp() != test.gaveUp || said != test.gaveUp || strings.HasPrefix(q.Stop.Hint, "resume the query when") != test.gaveUp {
			t.Errorf("%+v: %+v", test, q.Stop)
		}
		if q.ResumesByItself() && q.GaveUp() {
			t.Errorf("%+v: it says that it waits no more, and does", test)
		}
	}
	long, _ := after(time.Hour, 500, messages.MaxStuckRounds, strings.Repeat("so it goes on ", 1000))
	if got := long.Stop.Reason; !strings.HasPrefix(got, "it waits no more by itself") || got != messages.Text(got) {
		t.Errorf("a long reason is %.200q …, %d bytes", got, len(got))
	}
}
