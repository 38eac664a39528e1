package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// tracker collects what TrackResults says, in order.
type tracker struct {
	mu   sync.Mutex // guards said
	said []string
}

func (r *tracker) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *tracker) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.said...)
}

func track(t *testing.T, b *bus.Bus, query string) *tracker {
	t.Helper()
	r := &tracker{}
	testkit.Run(t, func(ctx context.Context) error {
		return b.TrackResults(ctx, query, func(h *messages.ResultHeader) {
			r.say("result %s", h.Position)
		}, func(p messages.Position, err error) {
			r.say("bad %s: %v", p, errors.Is(err, messages.ErrInvalid))
		}, func() { r.say("caught up") })
	})
	return r
}

func expectSaid(t *testing.T, r *tracker, want ...string) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("the tracker said %q", want), func() bool { return len(r.all()) >= len(want) })
	for i, said := range r.all() {
		if i >= len(want) || said != want[i] {
			t.Fatalf("the tracker said %q, want %q", r.all(), want)
		}
	}
}

func TestTrackingOfNothingHasCaughtUpAtOnce(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "other", testkit.Header("other", 0, 1), []byte("{}"))
	r := track(t, b, "q")
	expectSaid(t, r, "caught up")
	mustCommit(t, b, "a", testkit.Header("q", 3, 1), []byte("{}"))
	expectSaid(t, r, "caught up", "result 3")
}

func TestTrackingTellsWhatIsThereThenCaughtUpThenWhatComes(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "a", testkit.Header("q", 1, 1), []byte("{}"))
	mustCommit(t, b, "b", testkit.Header("q", 0, 0))
	r := track(t, b, "q")
	expectSaid(t, r, "result 1", "result 0", "caught up")
	mustCommit(t, b, "c", testkit.Header("q", 2, 1), []byte("{}"))
	expectSaid(t, r, "result 1", "result 0", "caught up", "result 2")
}

func TestAMessageThatIsNoResultIsReportedWithItsPosition(t *testing.T) {
	b := testkit.Bus(t)
	msg := nats.NewMsg(bus.ResultSubject("q", "5"))
	msg.Header.Set("Braid-Result", "{}")
	if _, err := b.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	h := testkit.Header("q", 9, 1)
	h.SHA256, h.Attempt = testkit.Digest(""), "a"
	head, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	foreign := nats.NewMsg(bus.ResultSubject("q", "6"))
	foreign.Header.Set("Braid-Result", string(head))
	if _, err := b.JetStream().PublishMsg(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().Publish(t.Context(), bus.ResultSubject("q", "7"), []byte("rows")); err != nil {
		t.Fatal(err)
	}
	expectSaid(t, track(t, b, "q"), "bad 5: true", "bad 6: true", "bad 7: true", "caught up")
}

func TestRowsDoNotTravelOnTheTrackingPath(t *testing.T) {
	b := testkit.Bus(t)
	const results, size = 8, 400 << 10
	for i := range results {
		mustCommit(t, b, fmt.Sprintf("a%d", i), testkit.Header("q", i, 1), noise(size))
	}
	before := b.Conn().Stats().InBytes
	r := track(t, b, "q")
	testkit.Until(t, "all results were told", func() bool { return len(r.all()) == results+1 })
	if read := b.Conn().Stats().InBytes - before; read > size {
		t.Errorf("tracking %d results of %d bytes read %d bytes", results, size, read)
	}
}

func TestInterruptionsAreFollowedLikeResults(t *testing.T) {
	b := testkit.Bus(t)
	interruption := func(query string, position int) *messages.Interruption {
		return &messages.Interruption{
			V: 1, Query: query, Run: 1, Position: messages.PositionAt(position), Service: "rivers", Kind: messages.QuotaExhausted,
			Status: 429, Reason: "slow down", Until: time.Now(), Worker: "w1", At: time.Now(),
		}
	}
	put := func(m *messages.Interruption) {
		if err := b.PublishInterruption(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	put(interruption("q", 0))
	put(interruption("other", 1))
	put(interruption("q", 0)) // events, unlike results, may come twice
	if _, err := b.JetStream().Publish(t.Context(), "braid.event.q.interruption", []byte("{")); err != nil {
		t.Fatal(err)
	}
	err := b.PublishExecutions(t.Context(), &messages.Executions{V: 1, Query: "q", Run: 1, Worker: "w1", Executions: []messages.Execution{
		{Position: "0", Attempt: "a", Try: 1, Class: "ok"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &tracker{}
	testkit.Run(t, func(ctx context.Context) error {
		return b.TrackInterruptions(ctx, "q", func(m *messages.Interruption) { r.say("%s %s", m.Kind, m.Position) },
			func(error) { r.say("bad") }, func() { r.say("caught up") })
	})
	expectSaid(t, r, "quota 0", "quota 0", "bad", "caught up")
	put(interruption("q", 2))
	expectSaid(t, r, "quota 0", "quota 0", "bad", "caught up", "quota 2")
}

func TestTrackingManyResultsMissesNone(t *testing.T) {
	b := testkit.Bus(t)
	const before, after = 100, 100
	for i := range before {
		mustCommit(t, b, fmt.Sprintf("a%d", i), testkit.Header("q", i, 0))
	}
	var told atomic.Int64
	caughtUp := make(chan int64, 1)
	testkit.Run(t, func(ctx context.Context) error {
		return b.TrackResults(ctx, "q", func(*messages.ResultHeader) { told.Add(1) },
			func(_ messages.Position, err error) { t.Error(err) }, func() { caughtUp <- told.Load() })
	})
	for i := range after {
		mustCommit(t, b, fmt.Sprintf("b%d", i), testkit.Header("q", before+i, 0))
	}
	if n := testkit.Receive(t, "end of what was there", caughtUp); n < before {
		t.Errorf("caught up after %d results of %d", n, before)
	}
	testkit.Until(t, "all results were told", func() bool { return told.Load() == before+after })
}
